/** Refusals of flows are written in English, for programs read them too; their sentences in Portuguese. What is not known stays as it is. */

import { phasePt, stepPt, stepsListPt } from './flow-words-pt.ts';
import { statePt } from './state-words-pt.ts';

/** What stands for `$1`, `$2` … in Portuguese; where nothing is named, it stays as it is. */
type Words = readonly (((word: string) => string) | null)[];
type Sentence = readonly [english: RegExp, portuguese: string, words?: Words];

function orPt(words: string): string {
  return words.replaceAll(' or ', ' ou ');
}

/** A rate or an amount as it is written in Portuguese. */
function figurePt(figure: string): string {
  return figure.replaceAll(/[.,]/g, (mark) => (mark === '.' ? ',' : '.'));
}

/** Each stands for a whole text; `$1` and so on are what the English one names. */
const whole: readonly Sentence[] = [
  [
    /^this is what the example left open: send the real value$/,
    'isto é o que o exemplo deixou em aberto: envie o valor real',
  ],
  [
    /^send the number of the note, or the code of its proposal, or leave this out$/,
    'envie o número da CCB, ou o código da proposta dela, ou omita este campo',
  ],
  [/^send the number of the note as a text, in quotes$/, 'envie o número da CCB como texto, entre aspas'],
  // Withdrawal-backed loans
  [
    /^send the CPF, whose balance is asked for, or a balance to calculate with$/,
    'envie o CPF, cujo saldo é consultado, ou um saldo para o cálculo',
  ],
  [/^send the 11 digits of a valid CPF$/, 'envie os 11 dígitos de um CPF válido'],
  [/^send a day in the worker's month of birth$/, 'envie um dia do mês de nascimento do trabalhador'],
  [
    /^send the worker's day of birth, from (.*) to (.*): a loan is made to somebody of (.*) to (.*) years$/,
    'envie o dia de nascimento do trabalhador, de $1 a $2: empresta-se a quem tem de $3 a $4 anos',
  ],
  [
    /^the order says month (.*): send a day of birth in it; if the order is wrong, cancel this flow and start one with the right birthDate$/,
    'o pedido diz mês $1: envie um dia de nascimento nesse mês; se o pedido está errado, cancele este fluxo e comece outro com o birthDate certo',
  ],
  [
    /^the order says another day: send that one; if the order is wrong, cancel this flow and start one with the right birthDate$/,
    'o pedido diz outro dia: envie esse; se o pedido está errado, cancele este fluxo e comece outro com o birthDate certo',
  ],
  [
    /^the proposal is (.*): the account can be changed while it is (.*); the step proposal asks the service for its state$/,
    'a proposta está em $1: a conta pode ser alterada enquanto ela está em $2; a etapa proposal consulta o estado dela no serviço',
  ],
  [
    /^this contract was made here for another worker: correct cpf, or name a contract of this worker$/,
    'este contrato foi feito aqui para outro trabalhador: corrija cpf, ou indique um contrato deste trabalhador',
  ],
  [
    /^(.*) is under way in this flow; ask for (.*) again when it has ended$/,
    '$1 está em andamento neste fluxo; peça $2 de novo quando terminar',
    [stepPt, stepPt],
  ],
  [
    /^send at least 2000 cents \(R\$ 20\.00\): amounts are in cents$/,
    'envie ao menos 2000 centavos (R$ 20,00): os valores são em centavos',
  ],
  [
    /^send at least 100 cents \(R\$ 1\.00\): amounts are in cents$/,
    'envie ao menos 100 centavos (R$ 1,00): os valores são em centavos',
  ],
  [
    /^send at least 1 cent \(R\$ 0\.01\), or leave this entry out: nothing would be paid by it$/,
    'envie ao menos 1 centavo (R$ 0,01), ou retire este item: nada seria pago por ele',
  ],
  [
    /^send the days of the transfers in order, each once, from (.*) to (.*)$/,
    'envie os dias dos repasses em ordem, cada um uma só vez, de $1 a $2',
  ],
  [/^send one of the periods simulated last: (.*)$/, 'envie um dos períodos da última simulação: $1'],
  [
    /^send when the signature was given: nothing could be signed before (.*)$/,
    'envie quando a assinatura foi feita: nada podia ser assinado antes de $1',
  ],
  [/^send it from zero$/, 'envie um valor a partir de zero'],
  [
    /^send how many yearly withdrawals are pledged: one of the periods simulated$/,
    'envie quantos saques anuais são dados em garantia: um dos períodos simulados',
  ],
  [
    /^send the worker's account that is paid \(account\), or a Pix key \(pix\.key\)$/,
    'envie a conta do trabalhador que recebe (account) ou uma chave Pix (pix.key)',
  ],
  [
    /^say who is paid in one way alone: pixKey, emv, paymentLine or an account$/,
    'diga quem recebe de uma só forma: pixKey, emv, paymentLine ou uma conta',
  ],
  [
    /^this very payment is in this order or was split before: if the payee is to get as much once more, send an entry with another fieldId or day$/,
    'este mesmo pagamento já está neste pedido ou já foi repassado: se o recebedor deve receber o mesmo valor mais uma vez, envie um item com outro fieldId ou outro dia',
  ],
  [
    /^send the worker's account \(account\) or a Pix key \(pix\.key\), not both$/,
    'envie a conta do trabalhador (account) ou uma chave Pix (pix.key), não as duas',
  ],
  [
    /^send a Pix key: a valid CPF or CNPJ without points \(its letters as capitals\), a phone such as \+5511987654321, an e-mail address or a random key \(UUID\)$/,
    'envie uma chave Pix: um CPF ou CNPJ válido, sem pontos (letras em maiúsculas), um telefone como +5511987654321, um e-mail ou uma chave aleatória (UUID)',
  ],
  [
    /^say whose the account is: send the worker's CPF beside it; a Pix key that is the worker's CPF needs none$/,
    'diga de quem é a conta: envie o CPF do trabalhador ao lado dela; uma chave Pix que é o CPF do trabalhador dispensa isso',
  ],
  [
    /^say whose the account is: send the worker's CPF in the field that the service has for its holder$/,
    'informe de quem é a conta: envie o CPF do trabalhador no campo que o serviço tem para o titular',
  ],
  [
    /^two accounts stand in one place: send the one that is to be paid$/,
    'há duas contas no mesmo lugar: envie a que deve receber',
  ],
  [
    /^send an account of the worker's own, with its holder's CPF$/,
    'envie uma conta do próprio trabalhador, com o CPF do titular',
  ],
  [
    /^simulate the worker's own balance before including a proposal: by the CPF, without balanceCents$/,
    'simule o saldo do próprio trabalhador antes de incluir a proposta: pelo CPF, sem balanceCents',
  ],
  [/^send the 47 or 48 digits of the payment slip$/, 'envie os 47 ou 48 dígitos do boleto'],
  [
    /^send the whole text of the Pix code, from 000201 to the four characters of its check \(CRC\)$/,
    'envie o texto inteiro do código Pix, de 000201 aos quatro caracteres da verificação (CRC)',
  ],
  [
    /^send the valid CPF or CNPJ of the payee, or leave it out$/,
    'envie o CPF ou CNPJ válido de quem recebe, ou omita este campo',
  ],
  [
    /^send the valid CPF or CNPJ of the assignor, or leave it out$/,
    'envie o CPF ou CNPJ válido do cedente, ou omita este campo',
  ],
  [/^send the three digits of the bank, such as 341$/, 'envie os três dígitos do banco, como 341'],
  [
    /^send the 1 to 6 digits of the branch, without its check digit$/,
    'envie os 1 a 6 dígitos da agência, sem o dígito verificador',
  ],
  [
    /^send the check digit of the branch alone: a digit or a letter$/,
    'envie só o dígito verificador da agência: um dígito ou uma letra',
  ],
  [
    /^send the three digits of one bank, such as 341: several have 000, and this order has no other field for the bank$/,
    'envie os três dígitos de um só banco, como 341: vários têm 000, e esta ordem não tem outro campo para o banco',
  ],
  [
    /^send the code of the bank too \(bankCode, codigoBanco\), or the three digits of one bank, such as 341: several have 000$/,
    'envie também o código do banco (bankCode, codigoBanco), ou os três dígitos de um só banco, como 341: vários têm 000',
  ],
  [
    /^send the service's own code of the bank, a whole number from 1, or leave it out and send the three digits of its number$/,
    'envie o código do banco no serviço, um número inteiro a partir de 1, ou omita-o e envie os três dígitos do número',
  ],
  [
    /^send the 1 to 20 digits of the account, without blanks, points and its check digit$/,
    'envie os 1 a 20 dígitos da conta, sem espaços, pontos e o dígito verificador',
  ],
  [
    /^send the check digit of the account alone: a digit or a letter$/,
    'envie só o dígito verificador da conta: um dígito ou uma letra',
  ],
  [
    /^send the CNPJ of the employer or its root, without points and with all its leading zeros, or employerIdType 2 for a CPF$/,
    'envie o CNPJ do empregador ou sua raiz, sem pontos e com todos os zeros à esquerda, ou employerIdType 2 para um CPF',
  ],
  [
    /^send the CPF of the employer, digits alone and with all its leading zeros, or employerIdType 1 for a CNPJ$/,
    'envie o CPF do empregador, só os dígitos e com todos os zeros à esquerda, ou employerIdType 1 para um CNPJ',
  ],
  [
    /^send the registration as the link shows it: without control characters$/,
    'envie a matrícula como está no vínculo: sem caracteres de controle',
  ],
  [
    /^send from 1 to (.*), in hundredths of a percent a month \(180 is 1\.80 %\), or leave it out$/,
    'envie de 1 a $1, em centésimos de por cento ao mês (180 são 1,80 %), ou omita',
  ],
  [/^send feeCents or feePercent, not both$/, 'envie feeCents ou feePercent, não os dois'],
  [
    /^send the rate that was simulated for this period, (.*) hundredths of a percent, or simulate with the other one first$/,
    'envie a taxa simulada para este prazo, $1 centésimos de ponto percentual, ou simule antes com a outra',
  ],
  [
    /^the fee simulated for this period was (.*) cents: send that or leave it out, or simulate with the other one first$/,
    'a tarifa simulada para este prazo foi de $1 centavos: envie essa ou omita o campo, ou simule antes com a outra',
  ],
  [
    /^send transfers that together are at most (.*) cents, or leave them out: amounts are in cents$/,
    'envie repasses que somem no máximo $1 centavos, ou omita-os: os valores são em centavos',
  ],
  [/^send less than the loan: amounts are in cents$/, 'envie menos que o empréstimo: os valores são em centavos'],
  [/^send less than 100 percent of the loan$/, 'envie menos de 100 por cento do empréstimo'],
  [
    /^this worker has other withdrawals \((.*)\), and it is not known whether this one fits beside them into what may be withdrawn: ask for them with the step proposal and simulate again, or simulate again once they are finalised or have ended$/,
    'este trabalhador tem outros saques ($1), e não se sabe se este cabe ao lado deles no que pode ser sacado: consulte-os com a etapa proposal e simule de novo, ou simule de novo quando estiverem finalizados ou encerrados',
  ],
  [
    /^this worker has other withdrawals \((.*)\), which come to (.*) of the (.*) cents that the service said may be withdrawn: send at most (.*) cents, or simulate again once they are finalised or have ended$/,
    'este trabalhador tem outros saques ($1), que somam $2 dos $3 centavos que o serviço disse que podem ser sacados: envie no máximo $4 centavos, ou simule de novo quando estiverem finalizados ou encerrados',
  ],
  [
    /^send at most what was simulated for this period, (.*) cents, or simulate the amount first$/,
    'envie no máximo o que foi simulado para este prazo, $1 centavos, ou simule antes o valor',
  ],
  [
    /^send from 0 to (.*) cents, (.*) % of the loan \(flows\.insuranceLimitPercent\)$/,
    'envie de 0 a $1 centavos, $2 % do empréstimo (flows.insuranceLimitPercent)',
  ],
  [
    /^send the valid CNPJ or CPF of the partner, digits alone$/,
    'envie o CNPJ ou CPF válido do parceiro, só os dígitos',
  ],
  [/^send it: nobody can be paid without it$/, 'envie este campo: sem ele não se paga a ninguém'],
  [
    /^send a Pix key of the worker's own: this one is another holder's document$/,
    'envie uma chave Pix do próprio trabalhador: esta é o documento de outro titular',
  ],
  [
    /^say who is paid: pixKey, emv, paymentLine, or an account with its bank, branch and number$/,
    'diga quem recebe: pixKey, emv, paymentLine, ou uma conta com banco, agência e número',
  ],
  [
    /^send splits that together are at most the loan, (.*) cents$/,
    'envie lançamentos que somem no máximo o empréstimo, $1 centavos',
  ],
  [
    /^leave dto out, or name the proposal of this flow in it by its code$/,
    'retire dto, ou indique nele a proposta deste fluxo pelo seu código',
  ],
  [
    /^send splits that together are at most (.*) cents: (.*) of the (.*) cents of the loan were split by earlier steps$/,
    'envie lançamentos que somem no máximo $1 centavos: $2 dos $3 centavos do empréstimo já foram lançados em passos anteriores',
  ],
  [
    /^the service refused the query of the proposal and has never shown one under this code: where it knows no such code, cancel this flow \(step cancel\) and begin one with the right proposalCode; else ask for the proposal again \(step proposal\)$/,
    'o serviço recusou a consulta da proposta e nunca mostrou nenhuma com este código: se ele não conhece o código, cancele este fluxo (passo cancel) e comece um com o proposalCode certo; senão, consulte de novo a proposta (passo proposal)',
  ],
  [
    /^the service refused the query of the proposal and has never shown one under this code: find out from the service whether it knows the code, and ask for the proposal again \(step proposal\)$/,
    'o serviço recusou a consulta da proposta e nunca mostrou nenhuma com este código: apure com o serviço se ele conhece o código e consulte de novo a proposta (passo proposal)',
  ],
  [
    /^ask for the proposal first \(step proposal\): what the service included is not known before it says so$/,
    'consulte antes a proposta (passo proposal): não se sabe o que o serviço incluiu antes que ele o diga',
  ],
  [
    /^the splits of this flow come to (.*) cents, and its loan to (.*): nothing is signed or finalised so; settle it with the service, and ask for the proposal again \(step proposal\) once it has put it right$/,
    'os lançamentos deste fluxo somam $1 centavos, e o empréstimo $2: assim nada é assinado nem finalizado; resolva com o serviço e consulte de novo a proposta (passo proposal) quando ele tiver corrigido',
  ],
  [
    /^the service answered with another proposal than it was asked for, or named none, so nothing of it counts \(namedProposal says which\): find out from the service why, and ask again; where it knows the proposal of a withdrawal by that code alone, begin a withdrawal with that code as proposalCode$/,
    'o serviço respondeu com outra proposta, não a que foi consultada, ou sem nomear nenhuma, então nada dela vale (namedProposal diz qual): apure com o serviço o motivo e consulte de novo; se ele só conhece a proposta de um saque por esse código, comece um saque com esse código em proposalCode',
  ],
  [
    /^the service answered with the balance of another worker, so nothing was simulated: find out from the service why, and simulate again$/,
    'o serviço respondeu com o saldo de outro trabalhador, então nada foi simulado: apure com o serviço o motivo e simule de novo',
  ],
  [
    /^the service answered in a way that cannot be read what may be withdrawn, whose balance it is or which periods failed, so nothing was simulated: find out from the service why, and simulate again$/,
    'o serviço respondeu de um modo que não se lê quanto pode ser sacado, de quem é o saldo ou quais períodos falharam; nada foi simulado: descubra com o serviço por quê e simule de novo',
  ],
  [
    /^the service answered with a loan above what it says may be withdrawn, so nothing was simulated: find out from the service why, and simulate again$/,
    'o serviço respondeu com um empréstimo acima do que ele diz que pode ser sacado, então nada foi simulado: apure com o serviço o motivo e simule de novo',
  ],
  [
    /^send what is paid, in cents: without it nobody can tell whether the splits are within the loan$/,
    'envie o valor pago, em centavos: sem ele não se sabe se os lançamentos cabem no empréstimo',
  ],
  [/^send at least one split$/, 'envie ao menos um lançamento'],
  [/^send each signer once$/, 'envie cada signatário uma vez'],
  [
    /^send the fields of the new account, as the service names them$/,
    'envie os campos da conta nova, com os nomes do serviço',
  ],
  [
    /^the contract has no such name for a part of an account: write one of (.*); where the service has told you this name, send true in otherNames$/,
    'o contrato não tem esse nome para uma parte de uma conta: escreva um destes: $1; se o serviço lhe informou este nome, envie true em otherNames',
  ],
  [
    /^the contract has no such name for a part of an account: write (.*) if you mean that; where the service has told you this name, send true in otherNames$/,
    'o contrato não tem esse nome para uma parte de uma conta: escreva $1, se é isso; se o serviço lhe informou este nome, envie true em otherNames',
  ],
  [/^send 1 for savings or 2 for checking$/, 'envie 1 para poupança ou 2 para conta corrente'],
  [/^name the proposal$/, 'indique a proposta'],
  [/^name the proposal by its code$/, 'indique a proposta pelo código'],
  [
    /^name the proposal by its code, its operation or its number$/,
    'indique a proposta pelo código, pela operação ou pelo número',
  ],
  [/^send at least one signer$/, 'envie ao menos um assinante'],
  [
    /^send when the signature was given: a time that is over by now$/,
    'envie quando a assinatura foi feita: um momento que já passou',
  ],
  [/^send the IP address that the signature came from$/, 'envie o endereço IP de onde veio a assinatura'],
  [
    /^send the CPF of a signer of this order: one of its signerCpfs, or the worker where it named none$/,
    'envie o CPF de um assinante desta ordem: um dos signerCpfs, ou o trabalhador se nenhum foi indicado',
  ],
  [/^register the signers before finalising$/, 'registre os assinantes antes de finalizar'],
  [
    /^register each signer of the order as one who has signed \(step signers\): one is missing$/,
    'registre cada assinante da ordem como quem já assinou (passo signers): falta um',
  ],
  [
    /^have the service enable this operation, then set flows\.finalisationEnabled to true, for the desk and for commands beside it \(LANCE_CONFIG\)$/,
    'peça ao serviço que habilite esta operação; depois ponha flows.finalisationEnabled em true, para a mesa e para os comandos ao lado dela (LANCE_CONFIG)',
  ],
  [/^change the account in these states only: (.*)$/, 'altere a conta só nestes estados: $1'],
  [/^send one object of the fields that stand in the dto$/, 'envie um só objeto com os campos do dto'],
  [/^leave the locator out: the proposal is the one of this flow$/, 'omita o localizador: a proposta é a deste fluxo'],
  // Contract, endorsement, renegotiation
  [
    /^the order says \(workerAccepted: false\) that the worker has not taken the proposal in the app; look there, and send true once it is taken$/,
    'o pedido diz (workerAccepted: false) que o trabalhador não aceitou a proposta no aplicativo; confira lá e envie true quando ela estiver aceita',
  ],
  // Of earlier versions.
  [
    /^the worker has not taken the proposal in the app; wait for it$/,
    'o trabalhador ainda não aceitou a proposta no aplicativo; aguarde',
  ],
  [
    /^send the released value or the instalment, exactly one of the two$/,
    'envie o valor liberado ou a parcela, exatamente um dos dois',
  ],
  [
    /^send a greater amount, in cents \(100000 is R\$ 1,000\.00\), or fewer instalments: each would be below R\$ 1\.00$/,
    'envie um valor maior, em centavos (100000 são R$ 1.000,00), ou menos parcelas: cada uma seria menor que R$ 1,00',
  ],
  [/^send whole cents above zero$/, 'envie centavos inteiros acima de zero'],
  [/^send a rate greater than 0\.01 % a month$/, 'envie uma taxa maior que 0,01 % ao mês'],
  [/^send a rate less than 4\.98 % a month$/, 'envie uma taxa menor que 4,98 % ao mês'],
  [/^send a rate of at most 4\.98 % a month$/, 'envie uma taxa de no máximo 4,98 % ao mês'],
  [/^send at most the rate of the bid, (.*)$/, 'envie no máximo a taxa do lance, $1'],
  [/^send at most the rate of the original contract, (.*)$/, 'envie no máximo a taxa do contrato original, $1'],
  [
    /^the original contract is at (.*): so little was typed in another unit$/,
    'o contrato original é de $1: tão pouco foi digitado em outra unidade',
  ],
  [
    /^send it in hundredths of a percent a month \(251 is 2\.51 %\): so little was typed in another unit$/,
    'envie em centésimos de por cento ao mês (251 são 2,51 %): tão pouco foi digitado em outra unidade',
  ],
  [
    /^the rate of the note, (.* %), is above the one it may have, (.* %): nobody can take it; have it generated again or cancel the flow, and settle it with the service$/,
    'a taxa da CCB, $1, passa da que ela pode ter, $2: ninguém pode aceitá-la; gere-a de novo ou cancele o fluxo, e acerte com o serviço',
    [figurePt, figurePt],
  ],
  [
    /^the rate of the note, (.*), is above the one it may have, (.*): nobody can take it; have it generated again or cancel the flow, and settle it with the service$/,
    'a taxa da CCB, $1, passa da que ela pode ter, $2: ninguém pode aceitá-la; gere-a de novo ou cancele o fluxo, e acerte com o serviço',
  ],
  [
    /^send the CPF of the worker of this flow, or leave it out$/,
    'envie o CPF do trabalhador deste fluxo, ou retire este campo',
  ],
  [
    /^the instalment would be (.*) cents, and that of the bid was (.*): send less insurance, a smaller amount or more instalments$/,
    'a parcela seria de $1 centavos, e a do lance foi de $2: envie menos seguro, um valor menor ou mais parcelas',
  ],
  [
    /^the flow (.*) has this note too: find out from the service whose it is, and have the other one generated again \(step regenerate\) or cancel it$/,
    'o fluxo $1 também tem esta CCB: apure com o serviço de quem ela é, e gere a outra de novo (passo regenerate) ou cancele-a',
  ],
  [
    /^the service has answered under (.*), which was confirmed as the proposal of this flow, so it is not corrected any more: go on with it, or, where it is the proposal of somebody else, do nothing more here and settle it with the service$/,
    'o serviço respondeu sobre $1, confirmada como a proposta deste fluxo, por isso o código não se corrige mais: siga com ela, ou, se é a proposta de outra pessoa, não faça mais nada aqui e acerte com o serviço',
  ],
  [
    /^this flow had it before: send the one that the service gave to the operation that is unclear$/,
    'este fluxo já o teve antes: envie o que o serviço deu à operação incerta',
  ],
  [
    /^the flow (.*) has it: send the one that the service gave to the operation that is unclear$/,
    'o fluxo $1 já o tem: envie o que o serviço deu à operação incerta',
  ],
  [/^send a whole number of instalments from 1$/, 'envie um número inteiro de parcelas, a partir de 1'],
  [/^send the policy number where there is insurance$/, 'envie o número da apólice quando há seguro'],
  [/^send it; the contract requires it$/, 'envie este campo; o contrato o exige'],
  [
    /^the detail of the link says that it is not eligible(.*); name an eligible link$/,
    'o detalhe do vínculo diz que ele não é elegível$1; indique um vínculo elegível',
  ],
  [/^the link was terminated on (.*); name one that goes on$/, 'o vínculo terminou em $1; indique um que continue'],
  [
    /^the link belongs to another worker; name one of the worker of this request$/,
    'o vínculo é de outro trabalhador; indique um do trabalhador desta solicitação',
  ],
  [
    /^the link belongs to another worker; name one of the same worker$/,
    'o vínculo é de outro trabalhador; indique um do mesmo trabalhador',
  ],
  [
    /^ask the link for its details first: its margin is not known$/,
    'consulte antes os dados do vínculo: a margem não é conhecida',
  ],
  [
    /^ask the link again: its details are older than 24 hours$/,
    'consulte o vínculo de novo: os dados têm mais de 24 horas',
  ],
  [
    /^lower the amount: the instalment is above the available margin$/,
    'reduza o valor: a parcela passa da margem disponível',
  ],
  [/^send the signature in the fields that the service asks for$/, 'envie a assinatura nos campos que o serviço pede'],
  [/^wait for the credit note: nothing can be signed before it$/, 'aguarde a CCB: nada pode ser assinado antes dela'],
  [
    /^send when the worker signed this note: it was generated at (.*)$/,
    'envie quando o trabalhador assinou esta CCB: ela foi gerada em $1',
  ],
  [/^let the worker sign with facial biometrics first$/, 'o trabalhador precisa antes assinar com biometria facial'],
  [
    /^the competence has turned: generate and sign the contract again$/,
    'a competência virou: gere e assine o contrato de novo',
  ],
  [/^send 1 for CNPJ or 2 for CPF$/, 'envie 1 para CNPJ ou 2 para CPF'],
  [/^name a contract of this worker$/, 'indique um contrato deste trabalhador'],
  [
    /^only a loan closed by termination can be renegotiated$/,
    'só um empréstimo encerrado por término de vínculo pode ser renegociado',
  ],
  [
    /^no instalment is open: there is nothing to renegotiate$/,
    'nenhuma parcela está em aberto: não há o que renegociar',
  ],
  [/^settle the pending charges first$/, 'quite antes os encargos pendentes'],
  [/^name a link that is valid$/, 'indique um vínculo válido'],
  // Flows
  [
    /^it is not set: set (.*) to the root under which (.*) stands, and start the desk again$/,
    'não está definida: ponha em $1 a raiz sob a qual fica $2 e inicie a mesa de novo',
  ],
  [
    /^nobody was asked: the first query about a worker needs the NSU of the authorisation; amend the flow with authorisationNumber$/,
    'ninguém foi consultado: a primeira consulta sobre um trabalhador precisa do NSU da autorização; corrija o fluxo (amend) com authorisationNumber',
  ],
  [
    /^nobody was asked: the first query about a worker needs the NSU of the authorisation; start another lookup with authorisationNumber$/,
    'ninguém foi consultado: a primeira consulta sobre um trabalhador precisa do NSU da autorização; inicie outra consulta com authorisationNumber',
  ],
  [
    /^nobody was asked: the request names no link of the worker; amend the flow with link$/,
    'ninguém foi consultado: a solicitação não indica vínculo do trabalhador; corrija o fluxo (amend) com link',
  ],
  [/^this key was used for another order; use a new one$/, 'esta chave já foi usada para outra ordem; use uma nova'],
  [/^this key was used for another step; use a new one$/, 'esta chave já foi usada para outro passo; use uma nova'],
  [/^this key began it before; use a new one$/, 'esta chave já iniciou este fluxo; use uma nova'],
  [
    /^there is such a flow already: (.*?), (.*?); begun by (.*) at (\S+); look at it: (lance \S+ show \S+); possible now: (.*); only if it is to be given up: its step cancel, then a start under a new key$/,
    'já existe esse fluxo: $1, na fase $2; iniciado por $3 em $4; veja-o: $5; possíveis agora: $6; só se for para desistir dele: o passo cancel e depois um start com outra chave',
    [null, phasePt, null, null, null, stepsListPt],
  ],
  [
    /^there is such a flow already: (.*?), (.*?); begun by (.*) at (\S+); look at it: (lance \S+ show \S+); only if it is to be given up: its step cancel, then a start under a new key$/,
    'já existe esse fluxo: $1, na fase $2; iniciado por $3 em $4; veja-o: $5; só se for para desistir dele: o passo cancel e depois um start com outra chave',
    [null, phasePt],
  ],
  [
    /^there is such a flow already: (.*?), (.*?); begun by (.*) at (\S+); look at it: (lance \S+ show \S+); possible now: (.*)$/,
    'já existe esse fluxo: $1, na fase $2; iniciado por $3 em $4; veja-o: $5; possíveis agora: $6',
    [null, phasePt, null, null, null, stepsListPt],
  ],
  [
    /^there is such a flow already: (.*?), (.*?); begun by (.*) at (\S+); look at it: (lance \S+ show \S+); no step is possible now$/,
    'já existe esse fluxo: $1, na fase $2; iniciado por $3 em $4; veja-o: $5; nenhum passo é possível agora',
    [null, phasePt],
  ],
  [
    /^no contract made here has this number: send the rate of the contract that was closed$/,
    'nenhum contrato feito aqui tem este número: envie a taxa do contrato encerrado',
  ],
  [
    /^it was made here at (.*) \((.*) a month\): leave this out, or send that$/,
    'foi feito aqui a $1 ($2 ao mês): omita este campo ou envie isso',
    [null, (percent) => percent.replace('.', ',')],
  ],
  [/^send the id of an event, such as event:CODE$/, 'envie o código de um evento, como event:CODE'],
  [
    /^this key has begun the flow (.*), whose order says otherwise: (.*); use a new key$/,
    'esta chave iniciou o fluxo $1, cuja ordem diz outra coisa: $2; use uma chave nova',
  ],
  [
    /^this worker has a withdrawal that is finalised and that the service has not said to be paid: (.*); ask for it with the step proposal, which says whether it is released \(setting flows\.situations\) or has ended, or send true in alongside for another beside it$/,
    'este trabalhador tem um saque finalizado que o serviço não disse estar pago: $1; peça o passo proposal, que diz se foi liberado (configuração flows.situations) ou terminou, ou envie true em alongside para outro ao lado',
  ],
  [
    /^this worker has a withdrawal under way already: (.*); go on with it or cancel it, or send true in alongside for another beside it$/,
    'este trabalhador já tem um saque em andamento: $1; prossiga com ele ou cancele-o, ou envie true em alongside para outro ao lado',
  ],
  [
    /^this worker has a withdrawal under way already: (.*); go on with it \(it cannot be cancelled where it stands; possible now: (.*)\), or send true in alongside for another beside it$/,
    'este trabalhador já tem um saque em andamento: $1; prossiga com ele (onde está não pode ser cancelado; possíveis agora: $2), ou envie true em alongside para outro ao lado',
    [null, stepsListPt],
  ],
  [
    /^this worker has a withdrawal under way already: (.*); no step is possible now: wait for the service, or send true in alongside for another beside it$/,
    'este trabalhador já tem um saque em andamento: $1; nenhum passo é possível agora: espere o serviço, ou envie true em alongside para outro ao lado',
  ],
  [
    /^the service does not say what the proposal comes to \((.*)\): ask for it again with the step proposal, or, once you know, take it as it is with the step accept and a reason$/,
    'o serviço não diz de quanto é a proposta ($1): peça de novo o passo proposal ou, quando souber, aceite-a como está com o passo accept e um motivo',
  ],
  [
    /^the proposal is not as included \((.*)\): once you know why, take it as it is with the step accept and a reason, or ask for it again with the step proposal when the service has put it right$/,
    'a proposta não é como foi incluída ($1): quando souber por quê, aceite-a como está com o passo accept e um motivo, ou consulte-a de novo com o passo proposal quando o serviço a tiver corrigido',
  ],
  [
    /^the service named another proposal for the same inclusion \((.*)\), and both may stand: find out there which one holds and have the other one cancelled; where that of this flow holds, take the step accept with a reason; where the other one does, begin a withdrawal with its code as proposalCode and do nothing more here$/,
    'o serviço informou outra proposta para a mesma inclusão ($1), e as duas podem existir: apure lá qual vale e peça o cancelamento da outra; se vale a deste fluxo, use o passo accept com um motivo; se vale a outra, comece um saque com o código dela em proposalCode e não faça mais nada aqui',
  ],
  [
    /^the service names a reason of (.*) for this proposal: ask for it again with the step proposal, or say that it goes on all the same with the step accept and a reason$/,
    'o serviço informa um motivo de $1 desta proposta: consulte-a de novo com o passo proposal, ou diga que ela segue assim mesmo com o passo accept e um motivo',
    [(kind) => (kind === 'rejection' ? 'rejeição' : kind.replace('cancellation', 'cancelamento'))],
  ],
  [
    /^send the day of the payment, from (.*) to (.*): not before the inclusion, and at most a year from now; or leave it out$/,
    'envie o dia do pagamento, de $1 a $2: não antes da inclusão e no máximo um ano a partir de hoje; ou omita-o',
  ],
  [/^there is a flow of this proposal already: (.*)$/, 'já existe um fluxo desta proposta: $1'],
  [
    /^send the code of the proposal with its hyphens, as the service writes it$/,
    'envie o código da proposta com os hífens, como o serviço o escreve',
  ],
  [
    /^send the request code with its hyphens, as the service writes it$/,
    'envie o código da requisição com os hífens, como o serviço o escreve',
  ],
  [
    /^send the request code with its hyphens, as the service writes it; a note that no flow knows waits under (.*)$/,
    'envie o código da requisição com os hífens, como o serviço o escreve; uma CCB que nenhum fluxo conhece espera com o código $1',
  ],
  [
    /^the detail of the link calls it eligible and gives a reason why it is not(.*); ask for it again$/,
    'o detalhe do vínculo o dá como elegível e traz um motivo de inelegibilidade$1; consulte-o de novo',
  ],
  [
    /^the detail of the link says whether it is eligible \(elegivel\) in a form that cannot be read; ask for it again$/,
    'o detalhe do vínculo diz de forma ilegível se é elegível (elegivel); consulte-o de novo',
  ],
  [
    /^the detail of the link names an end \(dataDesligamento\) that cannot be read; ask for it again$/,
    'o detalhe do vínculo traz um desligamento (dataDesligamento) ilegível; consulte-o de novo',
  ],
  [
    /^the detail of the link names a margin \(valorMargemDisponivel\) that cannot be read; ask for it again$/,
    'o detalhe do vínculo traz uma margem (valorMargemDisponivel) ilegível; consulte-o de novo',
  ],
  [
    /^the detail of the link does not say whether it is eligible; ask for it again$/,
    'o detalhe do vínculo não diz se ele é elegível; consulte-o de novo',
  ],
  [
    /^ask for the proposal first \(step proposal\): what the loan comes to is not known, and splits are at most that$/,
    'consulte antes a proposta (passo proposal): não se sabe de quanto é o empréstimo, e os repasses não passam dele',
  ],
  [/^no request has this id$/, 'nenhuma solicitação tem este código'],
  [/^no flow has this id$/, 'nenhum fluxo tem este código'],
  [
    /^the bid of this request is (.*), not contemplated: no contract can be ordered for it; look whether it is the request that you mean$/,
    'o lance desta solicitação está em $1, não contemplado: não se pode pedir contrato para ela; veja se é a solicitação que você quer',
    [statePt],
  ],
  [
    /^the service has told since then that an operation was done, under a code that no flow knows \((.*)\): if it is this one, another would be a second loan; once you know that it is not, send true in despiteEvents$/,
    'o serviço informou depois que uma operação foi feita, com um código que nenhum fluxo conhece ($1): se é esta, outra seria um segundo empréstimo; quando souber que não é, envie true em despiteEvents',
  ],
  [
    /^a callback under the code of this flow came that cannot be read as its note: its contract may stand at the service, and another would be a second loan; look at it first \(its history, or lance letters\), and once you know, send true in despiteEvents$/,
    'veio um callback com o código deste fluxo que não se lê como a sua CCB: o contrato pode estar no serviço, e outro seria um segundo empréstimo; veja-o primeiro (o histórico, ou lance letters) e, quando souber, envie true em despiteEvents',
  ],
  [
    /^it was shown that the contract of this flow is endorsed, and told later that it is not, so (.*) could lead to a second loan: find out there; if it is endorsed, take the step confirm, and once it is known not to be, deny, which another person confirms with the step accept$/,
    'foi mostrado que o contrato deste fluxo está averbado, e depois foi dito que não, então $1 poderia levar a um segundo empréstimo: verifique no serviço; se estiver averbado, use a etapa confirm; quando se souber que não está, deny, que outra pessoa confirma com a etapa accept',
  ],
  [
    /^the service says that the contract of this flow is endorsed already, and (.*) would lead to a second loan: take the step confirm$/,
    'o serviço diz que o contrato deste fluxo já está averbado, e $1 levaria a um segundo empréstimo: use a etapa confirm',
  ],
  [
    /^it was shown that this operation was done, and (.*) says that it was not: (.*)\. Find out there: another one would be a second loan\. If its contract is endorsed, take the step confirm; once it is undone or settled there, another person than .* takes the step accept with a reason, with a token or a log-in of their own$/,
    'foi mostrado que esta operação foi feita, e $1 diz que não foi: $2. Verifique lá: outra seria um segundo empréstimo. Se o contrato dela está averbado, use a etapa confirm; depois que for desfeita ou resolvida lá, outra pessoa, que não $1, usa a etapa accept com um motivo, com um token ou login próprio',
  ],
  [
    /^the service has received this endorsement, and has not shown that it was done, and (.*) says that it was not: (.*)\. Find out there: another one would be a second loan\. If its contract is endorsed, take the step confirm; once it is undone or settled there, another person than .* takes the step accept with a reason, with a token or a log-in of their own$/,
    'o serviço recebeu esta averbação e não mostrou que foi feita, e $1 diz que não foi: $2. Verifique lá: outra seria um segundo empréstimo. Se o contrato dela está averbado, use a etapa confirm; depois que for desfeita ou resolvida lá, outra pessoa, que não $1, usa a etapa accept com um motivo, com um token ou login próprio',
  ],
  [
    /^the service took this operation, its note has not come, and (.*) says that nothing came of it: (.*)\. Find out there: another one would be a second loan\. If it stands there, leave it: its note is still taken; once it is known not to stand, another person than .* takes the step accept with a reason, with a token or a log-in of their own$/,
    'o serviço recebeu esta operação, a CCB dela não veio, e $1 diz que não deu em nada: $2. Verifique lá: outra seria um segundo empréstimo. Se ela existe lá, deixe como está: a CCB dela ainda é recebida; quando se souber que não existe, outra pessoa, que não $1, usa a etapa accept com um motivo, com um token ou login próprio',
  ],
  [
    /^the service took this renegotiation, so whoever says that nothing came of it does so with a token or a log-in of their own: (.*)$/,
    'o serviço recebeu esta renegociação, então quem diz que não deu em nada usa um token ou login próprio: $1',
  ],
  [
    /^the service took this generation \((.*)\) and its note is awaited until (.*), so (.*) could lead to a second loan: start it again after that$/,
    'o serviço recebeu esta geração ($1) e a CCB dela é esperada até $2, então $3 poderia levar a um segundo empréstimo: comece de novo depois disso',
    [null, null, stepsListPt],
  ],
  [
    /^the service took this generation \((.*)\) and its note is awaited until (.*), so (.*) could lead to a second loan: wait for it; the step proposal asks the service meanwhile$/,
    'o serviço recebeu esta geração ($1) e a CCB dela é esperada até $2, então $3 poderia levar a um segundo empréstimo: espere por ela; enquanto isso, a etapa proposal consulta o serviço',
    [null, null, stepsListPt],
  ],
  [
    /^the service took this renegotiation \((.*)\), its note has not come, and its loan may stand without a signature, so (.*) could lead to a second one: find out there; if it stands, wait for its note; once you know that nothing came of it, take the step deny with a reason, which another person confirms with the step accept$/,
    'o serviço recebeu esta renegociação ($1), a CCB dela não veio, e o empréstimo dela pode existir sem assinatura, então $2 poderia levar a um segundo: verifique lá; se existe, espere a CCB; quando souber que não deu em nada, use a etapa deny com um motivo, que outra pessoa confirma com a etapa accept',
    [null, stepsListPt],
  ],
  [
    /^(.*) denied what was shown to be done, so another person settles it, with a token or a log-in of their own: (.*)$/,
    '$1 negou o que foi mostrado como feito, então outra pessoa o resolve, com um token ou login próprio: $2',
  ],
  [
    /^the service has received this contract for endorsement, so whoever denies it does so with a token or a log-in of their own: (.*)$/,
    'o serviço recebeu este contrato para averbação, então quem o nega usa um token ou login próprio: $1',
  ],
  [
    /^it was shown that this contract is endorsed, so whoever denies it does so with a token or a log-in of their own: (.*)$/,
    'foi mostrado que este contrato está averbado, então quem o nega usa um token ou login próprio: $1',
  ],
  [
    /^the service told that this contract was endorsed, so another person than (.*) settles it, with a token or a log-in of their own: (.*)\. Where nobody else works on contracts two ways are left: if the contract is endorsed, one of them takes the step confirm; if it is undone or settled there, a third person gets a token of their own \(lance tokens create\) and takes the step accept$/,
    'o serviço informou que este contrato foi averbado, então quem o resolve é outra pessoa, que não $1, com um token ou login próprio: $2. Se mais ninguém trabalha com contratos, restam dois caminhos: se o contrato está averbado, uma delas usa a etapa confirm; se foi desfeito ou resolvido lá, uma terceira pessoa recebe um token próprio (lance tokens create) e usa a etapa accept',
  ],
  [
    /^the service told that this contract was endorsed, so another person than (.*) settles it, with a token or a log-in of their own: (.*)\. Where nobody else works on contracts, a third person gets a token of their own \(lance tokens create\) and takes the step accept$/,
    'o serviço informou que este contrato foi averbado, então quem o resolve é outra pessoa, que não $1, com um token ou login próprio: $2. Se mais ninguém trabalha com contratos, uma terceira pessoa recebe um token próprio (lance tokens create) e usa a etapa accept',
  ],
  [
    /^the very same signers were registered before, under another key, and taken by the service: send them again only where the list has changed$/,
    'exatamente estes assinantes já foram registrados, com outra chave, e aceitos pelo serviço: envie de novo só se a lista mudou',
  ],
  [
    /^the very same splits were sent before, under another key, and taken; if the payee is to get as much once more, send an entry with another fieldId or day$/,
    'exatamente os mesmos repasses já foram enviados, com outra chave, e aceitos; se o recebedor deve receber o mesmo valor mais uma vez, envie um item com outro fieldId ou outro dia',
  ],
  [
    /^the note that was told under this code has not the figures of this loan, or is above its bid: look whether it is the contract of somebody else; once you know that it is of this flow, send true in despiteEvents$/,
    'a CCB informada com este código não tem os valores deste empréstimo, ou está acima do lance: veja se é o contrato de outra pessoa; quando souber que é deste fluxo, envie true em despiteEvents',
  ],
  [
    /^nothing was told under this code, and under others that no flow knows the service has told of operations that were done \((.*)\): send the one that tells of this operation; once you know that none does, send true in despiteEvents$/,
    'nada foi informado com este código, e com outros que nenhum fluxo conhece o serviço informou operações feitas ($1): envie o que fala desta operação; quando souber que nenhum fala, envie true em despiteEvents',
  ],
  [
    /^the bid of this request is (.*), not contemplated; once you have seen that it is, say so on the machine of the desk: (.*)$/,
    'o lance desta solicitação está em $1, não contemplado; quando vir que foi, diga na máquina da mesa: $2',
    [statePt],
  ],
  [
    /^it is a note of this flow that was replaced; the note of this flow is (.*)$/,
    'é uma CCB deste fluxo que já foi substituída; a CCB deste fluxo é $1',
  ],
  [/^it is a note of this flow that was replaced$/, 'é uma CCB deste fluxo que já foi substituída'],
  [/^it is the note of the flow (.*); the note of this flow is (.*)$/, 'é a CCB do fluxo $1; a CCB deste fluxo é $2'],
  [/^it is the note of the flow (.*)$/, 'é a CCB do fluxo $1'],
  [
    /^it is not the proposal that the note of this flow names: that is (.*), and the note (.*)$/,
    'não é a proposta que a CCB deste fluxo nomeia: ela é $1, e a CCB, $2',
  ],
  [
    /^it is not the note of this flow; the note of this flow is (.*)$/,
    'não é a CCB deste fluxo; a CCB deste fluxo é $1',
  ],
  [/^it is not the note of this flow$/, 'não é a CCB deste fluxo'],
  [
    /^it stands in the flow (.*), which is (.*): only a loan that was endorsed, and then closed by termination, can be renegotiated$/,
    'está no fluxo $1, que está em $2: só se renegocia um empréstimo que foi averbado e depois encerrado por desligamento',
  ],
  [
    /^the flow (.*) has this proposal too: find out from the service whose it is; the flow that it belongs to goes on once the other one is ended \(lance withdrawals cancel, where it is frozen\)$/,
    'o fluxo $1 também tem esta proposta: descubra com o serviço de quem ela é; o fluxo a que ela pertence segue depois que o outro for encerrado (lance withdrawals cancel, onde estiver congelado)',
  ],
  [
    /^it would release more than the bid, which was (.*) cents: at this rate and term send at most (.*) cents, or order by amountCents$/,
    'liberaria mais do que o lance, que foi de $1 centavos: com esta taxa e este prazo envie no máximo $2 centavos, ou peça por amountCents',
  ],
  [
    /^the instalment of the note is (.*) cents, and the bid allows (.*): nobody can take it; have it generated again or cancel the flow, and settle it with the service$/,
    'a parcela da CCB é de $1 centavos, e o lance permite $2: ninguém pode aceitá-la; peça que seja gerada de novo ou cancele o fluxo, e acerte com o serviço',
  ],
  [
    /^the instalment of the note is (.*), and the bid allows (.*): nobody can take it; have it generated again or cancel the flow, and settle it with the service$/,
    'a parcela da CCB é de $1, e o lance permite $2: ninguém pode aceitá-la; peça que seja gerada de novo ou cancele o fluxo, e acerte com o serviço',
    [figurePt, figurePt],
  ],
  [
    /^the note says these in a way that cannot be read, or twice \((.*)\): nobody can take it; see in the history of the flow what was written, have it generated again or cancel the flow, and settle it with the service$/,
    'a CCB diz estes valores de um modo que não se lê, ou duas vezes ($1): ninguém pode aceitá-la; veja no histórico do fluxo o que foi escrito, gere-a de novo ou cancele o fluxo, e resolva com o serviço',
  ],
  [
    /^the note has insurance of (.*), and with the tolerance of rounding the order allows (.*): nobody can take it; have it generated again or cancel the flow, and settle it with the service$/,
    'a CCB tem seguro de $1, e com a tolerância de arredondamento o pedido permite $2: ninguém pode aceitá-la; peça que seja gerada de novo ou cancele o fluxo, e acerte com o serviço',
    [figurePt, figurePt],
  ],
  [
    /^the note has insurance of (.*) cents, and the order allows (.*): nobody can take it; have it generated again or cancel the flow, and settle it with the service$/,
    'a CCB tem seguro de $1 centavos, e o pedido permite $2: ninguém pode aceitá-la; peça que seja gerada de novo ou cancele o fluxo, e acerte com o serviço',
  ],
  [
    /^the note releases (.*) cents, and the bid allows (.*): nobody can take it; have it generated again or cancel the flow, and settle it with the service$/,
    'a CCB libera $1 centavos, e o lance permite $2: ninguém pode aceitá-la; peça que seja gerada de novo ou cancele o fluxo, e acerte com o serviço',
  ],
  [
    /^the note releases (.*), and the bid allows (.*): nobody can take it; have it generated again or cancel the flow, and settle it with the service$/,
    'a CCB libera $1, e o lance permite $2: ninguém pode aceitá-la; peça que seja gerada de novo ou cancele o fluxo, e acerte com o serviço',
    [figurePt, figurePt],
  ],
  [
    /^the last simulation brought no values for any period: simulate the worker's own balance again, and see what it says$/,
    'a última simulação não trouxe valores de nenhum período: simule de novo o saldo do próprio trabalhador e veja o que ela diz',
  ],
  [
    /^it is the proposal of the flow (.*): ask there, or leave it out$/,
    'é a proposta do fluxo $1: peça nele, ou retire este campo',
  ],
  [/^its note has the number (.*): send it as the note does$/, 'a CCB dele tem o número $1: envie-o como na CCB'],
  [
    /^no contract made here has this number: correct it, or, where the contract was made elsewhere, send its rate too \(originalRateHundredths\)$/,
    'nenhum contrato feito aqui tem este número: corrija-o ou, se o contrato foi feito em outro lugar, envie também a taxa dele (originalRateHundredths)',
  ],
  [
    /^send the code of the proposal as the service gave it: letters and digits without blanks, and not the CPF$/,
    'envie o código da proposta como o serviço o deu: letras e dígitos sem espaços, e não o CPF',
  ],
  [/^this flow is a (.*): send (.*) instead$/, 'este fluxo é do tipo $1: envie $2 em vez disso'],
  [
    /^the bid was (.*), and this is (.*): send what was bid, or, once you know that the worker wants less, send true in despiteBid$/,
    'o lance foi de $1, e isto é $2: envie o que foi oferecido no lance ou, quando souber que o trabalhador quer menos, envie true em despiteBid',
  ],
  [
    /^this is the CPF of another person than the worker: send a Pix key of the worker's own, or, once you know that this person is to be paid, send true in despitePayee$/,
    'este é o CPF de outra pessoa, não o do trabalhador: envie uma chave Pix do próprio trabalhador ou, quando souber que é essa pessoa que deve receber, envie true em despitePayee',
  ],
  [
    /^the simulation of this period was (.*), and this is (.*): send what was simulated, or, once you know that the worker wants less, send true in despiteSimulation$/,
    'a simulação deste período foi de $1, e isto é $2: envie o que foi simulado ou, quando souber que o trabalhador quer menos, envie true em despiteSimulation',
  ],
  [
    /^the rate of the closed loan was (.*), and this is (.*): correct it, or, once you know that it is meant so, send true in despiteOriginal$/,
    'a taxa do empréstimo encerrado foi de $1, e isto é $2: corrija ou, quando souber que é isso mesmo, envie true em despiteOriginal',
  ],
  [
    /^the open instalments of the closed loan were (.*), and this is (.*): correct it, or, once you know that it is meant so, send true in despiteOriginal$/,
    'as parcelas em aberto do empréstimo encerrado eram $1, e isto é $2: corrija ou, quando souber que é isso mesmo, envie true em despiteOriginal',
  ],
  [
    /^the instalments of the closed loan were (.*), and this is (.*): correct it, or, once you know that it is meant so, send true in despiteOriginal$/,
    'as parcelas do empréstimo encerrado eram $1, e isto é $2: corrija ou, quando souber que é isso mesmo, envie true em despiteOriginal',
  ],
  [
    /^no loan here has more than (.*) instalments \(setting pricing\.maxInstallments\), and this is (.*): correct it, or, once you know that it is meant so, send true in despiteOriginal$/,
    'nenhum empréstimo aqui tem mais que $1 parcelas (configuração pricing.maxInstallments), e isto é $2: corrija ou, quando souber que é isso mesmo, envie true em despiteOriginal',
  ],
  [
    /^the closed loan had (.*) instalments, so no more can be open: correct it, or leave it out$/,
    'o empréstimo encerrado tinha $1 parcelas, e não pode haver mais que isso em aberto: corrija ou deixe sem',
  ],
  [
    /^the note (.*) of this contract was renegotiated here: (.*), (.*); signing or generating it again would lend that loan twice\. Look at that flow; only where nothing of it stands at the service, end it first$/,
    'a CCB $1 deste contrato foi repactuada aqui: $2, $3; assinar ou gerar de novo emprestaria o mesmo valor duas vezes. Veja esse fluxo; só se nada dele constar no serviço, encerre-o antes',
  ],
  [
    /^a loan of this contract was renegotiated here: (.*), (.*); look there whether it was lent\. Once you know that it was not, send true in despiteRenegotiation$/,
    'um empréstimo deste contrato foi repactuado aqui: $1, $2; veja lá se ele foi concedido. Quando souber que não foi, envie true em despiteRenegotiation',
  ],
  [
    /^the instalment calculated for the new loan was (.*), and this is (.*): correct it, or, once you know that it is meant so, send true in despiteOriginal$/,
    'a parcela calculada para o novo empréstimo foi de $1, e isto é $2: corrija ou, quando souber que é isso mesmo, envie true em despiteOriginal',
  ],
  [/^the bid was (.*): send at most that$/, 'o lance foi de $1: envie no máximo isso'],
  [
    /^the bid was (.*): a tenth of it or less is taken for a slip of typing, whatever was meant, and cannot be ordered: send more than (.*) \(100000 cents are R\$ 1,000\.00, a rate of 150 is 1\.50 %\)$/,
    'o lance foi de $1: um décimo disso ou menos é tido por erro de digitação, seja qual for a intenção, e não pode ser pedido: envie mais que $2 (100000 centavos são R$ 1.000,00, uma taxa de 150 é 1,50 %)',
  ],
  [
    /^the step confirm takes over the endorsement that the service told late; settle that first, with its own code or none, or with the step accept$/,
    'a etapa confirm assume a averbação que o serviço informou tarde; resolva-a primeiro, com o código dela ou nenhum, ou com a etapa accept',
  ],
  [
    /^the service told late that an operation was done that counts as not done here, or as given up: (.*)\. Find out there: another one would be a second loan or payment\. If its contract is endorsed, take the step confirm; once it is undone or settled there, take the step accept with a reason$/,
    'o serviço informou tarde que foi feita uma operação que aqui consta como não feita, ou abandonada: $1. Verifique lá: outra seria um segundo empréstimo ou pagamento. Se o contrato dela está averbado, use a etapa confirm; depois que for desfeita ou resolvida lá, use a etapa accept com um motivo',
  ],
  [
    /^the service told late that an operation was done that counts as not done here, or as given up: (.*)\. Find out there: another one would be a second loan or payment\. Once it is undone or settled there, take the step accept with a reason$/,
    'o serviço informou tarde que foi feita uma operação que aqui consta como não feita, ou abandonada: $1. Verifique lá: outra seria um segundo empréstimo ou pagamento. Depois que for desfeita ou resolvida lá, use a etapa accept com um motivo',
  ],
  [
    /^the service told late that an operation was done that counts as not done here, or as given up: (.*)\. Find out there: another one would be a second loan or payment\. If its contract is endorsed, take the step confirm; once it is undone or settled there, a person who neither ordered the contract nor signed or confirmed it takes the step accept with a reason, with a token or a log-in of their own$/,
    'o serviço informou tarde que foi feita uma operação que aqui consta como não feita, ou abandonada: $1. Verifique lá: outra seria um segundo empréstimo ou pagamento. Se o contrato dela está averbado, use a etapa confirm; depois que for desfeita ou resolvida lá, quem não pediu o contrato nem o assinou ou confirmou usa a etapa accept com um motivo, com um token ou login próprio',
  ],
  [
    /^the service told late that an operation was done that counts as not done here, or as given up: (.*)\. Find out there: another one would be a second loan or payment\. Once it is undone or settled there, a person who neither ordered the contract nor signed or confirmed it takes the step accept with a reason, with a token or a log-in of their own$/,
    'o serviço informou tarde que foi feita uma operação que aqui consta como não feita, ou abandonada: $1. Verifique lá: outra seria um segundo empréstimo ou pagamento. Depois que for desfeita ou resolvida lá, quem não pediu o contrato nem o assinou ou confirmou usa a etapa accept com um motivo, com um token ou login próprio',
  ],
  [
    /^the service told late of an operation, in words that do not show whether it was done, and it counts as not done here, or as given up: (.*)\. Find out there: another one would be a second loan or payment\. If its contract is endorsed, take the step confirm; once it is undone or settled there, take the step accept with a reason$/,
    'o serviço informou tarde algo de uma operação, em palavras que não mostram se foi feita, e aqui ela consta como não feita, ou abandonada: $1. Verifique lá: outra seria um segundo empréstimo ou pagamento. Se o contrato dela está averbado, use a etapa confirm; depois que for desfeita ou resolvida lá, use a etapa accept com um motivo',
  ],
  [
    /^the service told late of an operation, in words that do not show whether it was done, and it counts as not done here, or as given up: (.*)\. Find out there: another one would be a second loan or payment\. Once it is undone or settled there, take the step accept with a reason$/,
    'o serviço informou tarde algo de uma operação, em palavras que não mostram se foi feita, e aqui ela consta como não feita, ou abandonada: $1. Verifique lá: outra seria um segundo empréstimo ou pagamento. Depois que for desfeita ou resolvida lá, use a etapa accept com um motivo',
  ],
  [
    /^the note of this renegotiation is beyond what was ordered, or cannot be read \((.*)\): it stands at the service already, and nothing of it is signed here\. Read the printed note and settle it with the service; the step accept with a reason then says that it is taken as it is printed$/,
    'a CCB desta renegociação vai além do que foi pedido, ou não se lê ($1): ela já está no serviço, e nada dela é assinado aqui. Leia a CCB impressa e resolva com o serviço; a etapa accept, com um motivo, diz então que ela é aceita como está impressa',
  ],
  [
    /^the note (.*) came late, and the note of this flow is not as ordered \((.*)\): look at both, and send late \(--late\) for the first alone, then figures \(--figures\); or both at once$/,
    'a CCB $1 chegou tarde, e a CCB deste fluxo não está como pedida ($2): veja as duas e envie late (--late) só para a primeira, depois figures (--figures); ou os dois juntos',
  ],
  [
    /^the note is not as ordered \((.*)\): take it as it is with the step accept and a reason, or have it generated again with the step regenerate$/,
    'a CCB não está como pedida ($1): aceite-a como está com a etapa accept e um motivo, ou gere-a de novo com a etapa regenerate',
  ],
  [
    /^the competence has turned since this note was generated: start the flow again under a new key, which generates another one$/,
    'a competência virou desde que esta CCB foi gerada: inicie o fluxo de novo com outra chave, o que gera outra CCB',
  ],
  [
    /^send the number of the closed contract as its note has it: letters and digits without blanks, and not the CPF$/,
    'envie o número do contrato encerrado como está na CCB: letras e dígitos sem espaços, e não o CPF',
  ],
  [
    /^a record of it cannot be processed; retry or cancel it with the lance command of its kind$/,
    'um registro dele não pode ser processado; use retry ou cancel do comando lance deste tipo',
  ],
  [
    /^the service has told since then that an operation was done, under a code that no flow knows \((.*)\): if it is this one, take the step confirm with that code; once you know that it is not, send true in despiteEvents$/,
    'o serviço informou depois que uma operação foi feita, com um código que nenhum fluxo conhece ($1): se é esta, use a etapa confirm com esse código; quando souber que não é, envie true em despiteEvents',
  ],
  [
    /^its note has come, so it was done and there is nothing to deny: (.*); possible now: (.*)$/,
    'a CCB chegou, portanto a operação foi feita e não há o que negar: $1; possíveis agora: $2',
    [(number) => number, stepsListPt],
  ],
  [
    /^(.*) cannot be asked for while the flow is (.*); possible now: (.*)$/,
    '$1 não pode ser pedido na fase $2; possíveis agora: $3',
    [stepPt, phasePt, stepsListPt],
  ],
  [
    /^(.*) cannot be asked for while the flow is (.*); no step is possible now: start it again under another key$/,
    '$1 não pode ser pedido na fase $2; nenhum passo é possível agora: inicie-o de novo com outra chave',
    [stepPt, phasePt],
  ],
  [
    /^(.*) cannot be asked for while the flow is (.*); no step is possible now$/,
    '$1 não pode ser pedido na fase $2; nenhum passo é possível agora',
    [stepPt, phasePt],
  ],
  [
    /^send what changes: terms, link or authorisationNumber; as it is the flow goes on by itself$/,
    'envie o que muda: condições, link ou authorisationNumber; como está, o fluxo segue sozinho',
  ],
  [
    /^send when the worker signed: this time is in the future$/,
    'envie quando o trabalhador assinou: este momento está no futuro',
  ],
  [/^send the proposal's code$/, 'envie o código da proposta'],
  [/^send the request code that the service gave it$/, 'envie o código da requisição que o serviço deu'],
  [
    /^the flow knows no link yet; name it together with the number$/,
    'o fluxo ainda não conhece vínculo; indique-o junto com o número',
  ],
  // What a file or a field looks like
  [/^the file$/, 'o arquivo'],
  [/^send the 11 digits of a CPF, as a text without points$/, 'envie os 11 dígitos do CPF, como texto sem pontos'],
  [/^send 1 to 40 decimal digits, as a text$/, 'envie de 1 a 40 dígitos decimais, como texto'],
  [/^is blank; say why, in 1 to 2000 characters$/, 'está em branco; diga por quê, em 1 a 2000 caracteres'],
  [
    /^send the CNPJ or CPF of the employer, 1 to 20 characters$/,
    'envie o CNPJ ou CPF do empregador, de 1 a 20 caracteres',
  ],
  [
    /^send the code of the proposal, 1 to 60 letters, digits and hyphens$/,
    'envie o código da proposta, de 1 a 60 letras, dígitos e hifens',
  ],
  [
    /^take out what is not known here: (.*?)(?: and \d+ more)?; known are (.*); did you mean (.*)\?$/,
    'retire o que não é conhecido aqui: $1; são conhecidos $2; quis dizer $3?',
    [null, null, orPt],
  ],
  [
    /^take out what is not known here: (.*?)(?: and \d+ more)?; did you mean (.*)\?$/,
    'retire o que não é conhecido aqui: $1; quis dizer $2?',
    [null, orPt],
  ],
  [
    /^take out what is not known here: (.*?)(?: and \d+ more)?; known are (.*)$/,
    'retire o que não é conhecido aqui: $1; são conhecidos $2',
  ],
  [/^take out what is not known here: (.*?)(?: and \d+ more)?$/, 'retire o que não é conhecido aqui: $1'],
  [/^write one of (.*)$/, 'escreva um destes: $1'],
  [/^this is none of the forms that it may have$/, 'não tem nenhuma das formas possíveis'],
  [/^write a day such as (.*)$/, 'escreva um dia como $1'],
  [/^write a time with its zone, such as (.*)$/, 'escreva um momento com o fuso, como $1'],
  [/^write a text of the form (.*)$/, 'escreva um texto da forma $1'],
  [/^write a text$/, 'escreva um texto'],
  [/^write true or false$/, 'escreva true ou false'],
  [/^write an object (.*)$/, 'escreva um objeto $1'],
  [/^write a list (.*)$/, 'escreva uma lista $1'],
  [/^write a number$/, 'escreva um número'],
  [/^write a whole number$/, 'escreva um número inteiro'],
  [/^write at least (\d+) characters$/, 'escreva no mínimo $1 caracteres'],
  [/^write at most (\d+) characters$/, 'escreva no máximo $1 caracteres'],
  [/^write at least (\d+) entries$/, 'escreva no mínimo $1 itens'],
  [/^write at most (\d+) entries$/, 'escreva no máximo $1 itens'],
  [/^write at least (\d+)$/, 'escreva no mínimo $1'],
  [/^write at most (\d+)$/, 'escreva no máximo $1'],
];

const units: readonly Sentence[] = [
  [/, in whole cents of a real$/, ', em centavos inteiros de real'],
  [/, in hundredths of a percent a month$/, ', em centésimos de por cento ao mês'],
  [/, in hundredths of a percent a year$/, ', em centésimos de por cento ao ano'],
  [/, in hundredths of a percent$/, ', em centésimos de por cento'],
  [/, in percent a month$/, ', em por cento ao mês'],
  [/, in percent a year$/, ', em por cento ao ano'],
  [/, in percent$/, ', em por cento'],
  [/, in epoch ms$/, ', em ms desde 1970'],
];

const missing = 'is missing; ';

export function refusalPt(text: string): string {
  if (text.startsWith(missing)) return `falta; ${refusalPt(text.slice(missing.length))}`;
  const unit = units.find(([english]) => english.test(text));
  if (unit !== undefined) return refusalPt(text.replace(unit[0], '')) + unit[1];
  const known = whole.find(([english]) => english.test(text));
  if (known === undefined) return text;
  const [english, portuguese, words = []] = known;
  const found = english.exec(text)!;
  const said = portuguese.replaceAll(/\$(\d)/g, (_, place) => {
    const word = found[Number(place)] ?? '';
    return words[Number(place) - 1]?.(word) ?? word;
  });
  return said.replace(toldLate, (_, before: string, operation: string) => before + stepPt(operation));
}

/** The operation in what was told late or denied, before its code. */
const toldLate = /((?:diz que não foi|não feita, ou abandonada): )([a-z-]+)(?=[ .])/;
