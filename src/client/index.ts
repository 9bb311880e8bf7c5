export { type Client, type ClientOptions, type ClientState, openClient, type TaskListener } from './client.ts';
export { type CommentStore, followComments, type NewComment } from './comments.ts';
export * from './protocol.ts';
