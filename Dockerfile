# The desk and, with another command, the sandbox. Node runs the sources as they are: there is nothing to build.
FROM node:24.21.0-bookworm-slim AS dependencies
WORKDIR /srv/lance
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts

FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production
WORKDIR /srv/lance
COPY --from=dependencies /srv/lance/node_modules ./node_modules
COPY package.json ./
COPY config ./config
COPY docs ./docs
COPY rules ./rules
COPY src ./src
RUN mkdir /var/lib/lance && chown node:node /var/lib/lance
USER node
# Inside the container only; what is published outside is for who starts it to say.
ENV LANCE_HTTP_HOST=0.0.0.0 LANCE_HTTP_PORT=8080 LANCE_DATA_DIR=/var/lib/lance
VOLUME /var/lib/lance
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/livez').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "src/lance.ts"]
CMD ["run"]
