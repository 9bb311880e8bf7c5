export {
  type TurnStart,
  type TurnStartHook,
  type TurnStartOptions,
  TurnStartRefusal,
  withTurnStartHooks,
} from './admission/turn-start.ts';
export { type ErrorCode, errorTable, PlanledgerError } from './ledger/errors.ts';
export type * from './ledger/generated.ts';
export { type CallOptions, createLedger, withSignal } from './ledger/ledger.ts';
export {
  type ConnectOptions,
  connect,
  connectionSettings,
  DatabaseUrlError,
  openPool,
  type Sql,
  type TransactionSql,
} from './postgres/connect.ts';
export { MigrationError, type MigrationReport, migrate } from './postgres/migrate.ts';
