/** The value of a limit in the unit that people read. */
import type { Limits } from '../domain/policy.ts';
import type { Format } from './format.ts';

export function limitText(field: keyof Limits, value: number, format: Format): string {
  switch (field) {
    case 'minRateHundredths':
    case 'maxRateHundredths':
      return format.rate(value);
    case 'minSpreadHundredths':
      return format.points(value);
    case 'maxCetAnnualHundredths':
      return format.annualRate(value);
    case 'maxMarginShare':
      return format.share(value);
    case 'minInstallments':
    case 'maxInstallments':
    case 'maxTermChange':
      return String(value);
    case 'minAmountCents':
    case 'maxAmountCents':
    case 'minInstallmentCents':
    case 'maxInstallmentCents':
    case 'minProfitCents':
      return format.money(value);
    default:
      return field satisfies never;
  }
}
