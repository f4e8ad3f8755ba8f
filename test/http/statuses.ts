/** A status as a process answers it. */
import { exampleOf } from '../../src/http/api/described.ts';
import { type DaemonStatus, statusSchema } from '../../src/http/api/status.ts';

export const someStatus = (): DaemonStatus => exampleOf(statusSchema) as DaemonStatus;
