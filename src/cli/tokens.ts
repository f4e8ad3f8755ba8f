/** `lance tokens create | list | revoke`: tokens of the operator API, given out and taken back without a restart. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { printable } from '../domain/printable.ts';
import { apiRoles, isOwnerName } from '../domain/roles.ts';
import { Fault } from '../errors.ts';
import { type KnownToken, mostTokenDays, type TokenOrder, usualTokenDays } from '../operating/tokens.ts';
import { type Orderer, withDesk, withOrderer } from './desk-control.ts';
import { tableText } from './terminal.ts';
import type { CommandWorld } from './world.ts';

type Add = (parent: Command, usage: string, description: string, example: string) => Command;

export function registerTokens(program: Command, world: CommandWorld, add: Add, said: (word: string) => string): void {
  const { help, tokens: texts } = world.format.texts;
  const days = (word: string) => {
    if (!/^\d{1,3}$/.test(word) || Number(word) < 1 || Number(word) > mostTokenDays)
      throw new InvalidArgumentError(texts.help.daysRange(mostTokenDays));
    return Number(word);
  };
  const owner = (word: string) => {
    if (!isOwnerName(word)) throw new InvalidArgumentError(texts.help.ownerForm);
    return word;
  };
  const parent = add(program, 'tokens', texts.help.tokens, 'lance tokens list');
  add(parent, 'create', texts.help.create, 'lance tokens create --owner bruno --role risk --days 90 --by ana')
    .requiredOption('--owner <name>', texts.help.owner, owner)
    .addOption(new Option('--role <role>', texts.help.role).choices(apiRoles).makeOptionMandatory())
    .option('--days <n>', texts.help.days, days, usualTokenDays)
    .option('--by <name>', help.orderer, said)
    .option('--reason <text>', help.reason, said)
    .option('--json', help.json, false)
    .action((options: Orderer & TokenOrder & { json: boolean }) => create(world, options));
  add(parent, 'list', texts.help.list, 'lance tokens list')
    .option('--json', help.json, false)
    .action(({ json }: { json: boolean }) => list(world, json));
  add(parent, 'revoke', texts.help.revoke, 'lance tokens revoke 3f9c2a71b0 --by ana')
    .argument('<id>', texts.help.id)
    .option('--by <name>', help.orderer, said)
    .option('--reason <text>', help.reason, said)
    .action((id: string, options: Orderer & { reason?: string }) => revoke(world, id, options));
}

async function create(
  world: CommandWorld,
  { by, json, ...order }: Orderer & TokenOrder & { json: boolean },
): Promise<void> {
  const { terminal, format } = world;
  const { tokens: texts } = format.texts;
  const { id, token, expiresAt } = await withOrderer(world, { by }, (desk) => desk.createToken(order));
  if (json) {
    terminal.write(JSON.stringify({ id, token, expiresAt }));
    return;
  }
  terminal.say(texts.created(id, order.owner, order.role, format.minute(expiresAt)));
  // Alone on standard output, so that it can be taken into a variable.
  terminal.write(token);
}

async function list(world: CommandWorld, json: boolean): Promise<void> {
  const { terminal, format, clock } = world;
  const { tokens: texts, none } = format.texts;
  const tokens = await withDesk(world, (desk) => desk.tokens());
  if (json) {
    for (const token of tokens) terminal.write(JSON.stringify(token));
    return;
  }
  terminal.say(texts.notHere);
  if (tokens.length === 0) {
    terminal.write(texts.none);
    return;
  }
  const stateOf = ({ revoked, expiresAt }: KnownToken) => {
    if (revoked !== null) {
      const why = revoked.reason == null ? '' : `: ${printable(revoked.reason)}`;
      return `${texts.revokedBy(revoked.by, format.minute(revoked.at))}${why}`;
    }
    return expiresAt <= clock.now() ? texts.expired : none;
  };
  const rows = tokens.map((token) => [
    ...[
      token.kind === 'session' ? `${token.id} (${texts.session})` : token.id,
      token.owner,
      token.role,
      format.minute(token.createdAt),
    ],
    `${token.createdBy}${token.createdVia === 'offline' ? ' (offline)' : ''}`,
    ...[format.minute(token.expiresAt), stateOf(token)],
  ]);
  terminal.write(tableText(texts.header, rows));
}

async function revoke(
  world: CommandWorld,
  id: string,
  { reason = null, ...orderer }: Orderer & { reason?: string | null },
): Promise<void> {
  const { terminal, format } = world;
  const { tokens: texts } = format.texts;
  const outcome = await withOrderer(world, orderer, (desk) => desk.revokeToken(id, reason));
  switch (outcome.kind) {
    case 'revoked':
      terminal.write(texts.revoked(id, outcome.owner));
      return;
    case 'revoked-before':
      terminal.write(texts.revokedBefore(id, outcome.owner));
      return;
    case 'token-unknown':
      throw new Fault('not-found', texts.unknown(id));
    default:
      outcome satisfies never;
  }
}
