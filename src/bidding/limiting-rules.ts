/**
 * Which rules' limits a pass of the price goes back to. The recorded reasons name no rule, for pricing knows limits and not who set them. Pure.
 */
import type { Limits } from '../domain/policy.ts';
import type { LoanRequest } from '../domain/request.ts';
import { oppositeLimits, type RequestVerdict } from '../rules/evaluate.ts';

export type Limited = Pick<RequestVerdict, 'limits' | 'limitRules'>;
type Asked = Pick<LoanRequest, 'requestedAmountCents' | 'requestedInstallments'>;

/** Limits that no offer may be cut to: the request is refused by them alone, whatever it is priced at. */
export function refusingLimits({ limits }: Limited, asked: Asked, marginCents: number | null): (keyof Limits)[] {
  const { requestedAmountCents: amount, requestedInstallments: term } = asked;
  const { minInstallments, maxInstallments, minAmountCents, minInstallmentCents, maxMarginShare } = limits;
  const change = limits.maxTermChange ?? 0;
  const found: (keyof Limits)[] = [];
  if (term !== null && maxInstallments !== null && term - change > maxInstallments) found.push('maxInstallments');
  if (term !== null && minInstallments !== null && term + change < minInstallments) found.push('minInstallments');
  if (amount !== null && minAmountCents !== null && amount < minAmountCents) found.push('minAmountCents');
  if (
    marginCents !== null &&
    minInstallmentCents !== null &&
    marginCents * (maxMarginShare ?? 1) < minInstallmentCents
  ) {
    found.push('minInstallmentCents');
  }
  return found;
}

/** Limits that may take part in a pass of this code. */
const fieldsOf: Readonly<Record<string, readonly (keyof Limits)[]>> = {
  'margin-too-small': ['maxInstallmentCents', 'minInstallmentCents', 'maxMarginShare', 'minAmountCents'],
  'no-admissible-rate': ['minRateHundredths', 'maxRateHundredths', 'maxCetAnnualHundredths', 'minInstallmentCents'],
  'no-profit': ['maxRateHundredths', 'minSpreadHundredths', 'minProfitCents'],
};

/** The names of the rules that set the limits behind a pass; empty where rules limited nothing that takes part. */
export function limitingRules(code: string, limited: Limited, asked: Asked): string[] {
  const { limits, limitRules } = limited;
  const refusing = (): readonly (keyof Limits)[] => {
    const certain = refusingLimits(limited, asked, null);
    switch (code) {
      case 'limits-conflict':
        return oppositeLimits
          .filter(([min, max]) => (limits[min] ?? 0) > (limits[max] ?? Number.POSITIVE_INFINITY))
          .flat();
      case 'installments-out-of-range':
        return certain.filter((field) => field.endsWith('Installments'));
      case 'amount-out-of-range':
        return certain.includes('minAmountCents') ? ['minAmountCents'] : ['maxAmountCents'];
      default:
        return fieldsOf[code] ?? [];
    }
  };
  return [...new Set(refusing().flatMap((field) => limitRules[field] ?? []))];
}
