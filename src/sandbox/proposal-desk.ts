/** The four operations on an included proposal, played: splits, signers, finalisation, account. */
import { createHash } from 'node:crypto';
import type { Clock } from '../domain/clock.ts';
import type { JsonObject, JsonValue } from '../wire/json.ts';
import { instantOf } from './bid-reading.ts';
import {
  type Deed,
  deny,
  type PlayedProposal,
  type ProposalState,
  type WithdrawalSettings,
} from './played-proposal.ts';
import { isGiven, listAt, objectAt, textAt } from './strict.ts';
import { proposalDone } from './withdrawal-answers.ts';
import type { WithdrawalPath } from './withdrawal-shapes.ts';

const octet = '(25[0-5]|2[0-4]\\d|1?\\d?\\d)';
const addressForms = [new RegExp(`^${octet}(\\.${octet}){3}$`), /^(?=.*:)[0-9a-fA-F:]{2,39}$/];

const accountStates: readonly ProposalState[] = ['approved', 'finalized', 'released', 'pending-payment'];

type ProposalPath = Extract<WithdrawalPath, `/Proposta/${string}`>;

export function createProposalDesk(parts: {
  settings: WithdrawalSettings;
  clock: Clock;
  find: (values: readonly JsonValue[]) => PlayedProposal | undefined;
}): Readonly<Record<ProposalPath, (body: JsonObject) => Deed>> {
  const { settings, clock } = parts;

  const on =
    (work: (proposal: PlayedProposal, body: JsonObject) => Deed) =>
    (body: JsonObject): Deed => {
      const proposal = parts.find(Object.values(objectAt(body, 'dto')));
      if (proposal === undefined) return deny('PROPOSTA_INEXISTENTE', 'Proposta não encontrada', 'dto');
      return work(proposal, body);
    };
  const done = (proposal: PlayedProposal, what: JsonObject | null): Deed => {
    const rest = what === null ? '' : createHash('sha256').update(JSON.stringify(what)).digest('hex');
    return { kind: 'done', answer: proposalDone, subject: `${proposal.code}${rest}` };
  };
  const later = (delayMs: number, proposal: PlayedProposal, from: ProposalState, to: ProposalState, then: () => void) =>
    clock.schedule(clock.now() + delayMs, () => {
      if (proposal.state !== from) return;
      proposal.state = to;
      then();
    });

  return {
    '/Proposta/SalvarLancamento': on((proposal, body) => {
      proposal.splits.push(...listAt(body, 'lancamentos'));
      return done(proposal, body);
    }),
    '/Proposta/IncluirAssinaturaCCBFinalizada': on((proposal, body) => {
      const signers = listAt(body, 'assinantes');
      if (signers.length === 0) return deny('ASSINANTE_AUSENTE', 'Envie ao menos um assinante', 'assinantes');
      for (const signer of signers) {
        if (!isGiven(signer, 'dtAssinatura') || instantOf(textAt(signer, 'dtAssinatura')) > clock.now()) {
          return deny('ASSINATURA_PENDENTE', 'Assinatura sem data e hora passadas', 'dtAssinatura');
        }
        if (!addressForms.some((form) => form.test(textAt(signer, 'ipAssinatura')))) {
          return deny('IP_AUSENTE', 'Assinatura sem endereço IP de origem', 'ipAssinatura');
        }
      }
      proposal.signers.push(...signers);
      return done(proposal, body);
    }),
    '/Proposta/Finalizar': on((proposal) => {
      if (!settings.finalisationEnabled) return deny('OPERACAO_NAO_HABILITADA', 'Parametrização ausente', 'dto');
      if (proposal.signers.length === 0) return deny('ASSINATURA_AUSENTE', 'Registre as assinaturas antes', 'dto');
      if (proposal.state !== 'approved') return deny('SITUACAO_INVALIDA', 'A situação não permite finalizar', 'dto');
      proposal.state = 'finalized';
      later(settings.paymentDelayMs, proposal, 'finalized', 'pending-payment', () => {
        later(settings.releaseDelayMs, proposal, 'pending-payment', 'released', () => {});
      });
      return done(proposal, null);
    }),
    '/Proposta/AtualizarContaPagamento': on((proposal, body) => {
      if (!accountStates.includes(proposal.state)) {
        return deny('SITUACAO_INVALIDA', 'A situação não permite mudar a conta', 'dto');
      }
      // Which fields carry the new account is not documented: whatever came is the account.
      proposal.account = body;
      return done(proposal, body);
    }),
  };
}
