/** What a driver can be told to do wrong, one call after the other. */
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { CsiService } from '#wire/csi/csi-driver.ts'
import type { CsiMethodName } from '#wire/csi/csi-types.ts'

export type Fault =
  /** Refuses, and does nothing. */
  | { kind: 'fail'; code: number; message?: string }
  /** Answers when told to, or never. */
  | { kind: 'hang'; until: Promise<void> }
  /** Does the work, and its answer is lost. */
  | { kind: 'lose' }
  /** Does the work twice, as if the call had been sent twice, and answers once. */
  | { kind: 'twice' }

/** Everything that can go wrong with a call, one after the other. What hangs does so for ever: whoever calls has to have a limit. */
export const everyFault: readonly Fault[] = [
  { kind: 'fail', code: grpcCodes.internal },
  { kind: 'hang', until: new Promise(() => {}) },
  { kind: 'lose' },
  { kind: 'twice' },
]

export class DriverFaults {
  readonly #waiting = new Map<CsiMethodName, Fault[]>()
  #answering = 0
  /** Every call waits for it before anything is done. */
  delay: () => Promise<void> = async () => {}
  /** Every call that came, in order. */
  readonly calls: { name: CsiMethodName; request: object }[] = []

  /** At work for a call that does not hang: no time may pass, or the call would be given up for no fault of anybody. */
  get isBusy(): boolean {
    return this.#answering > 0
  }

  /** Faults of that call that have not happened yet. */
  left(name: CsiMethodName): number {
    return this.#waiting.get(name)?.length ?? 0
  }

  /** The next calls of that name go wrong so. */
  next(name: CsiMethodName, ...faults: Fault[]): void {
    this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), ...faults])
  }

  count(name: CsiMethodName): number {
    return this.calls.filter((call) => call.name === name).length
  }

  over(service: CsiService): CsiService {
    const names = Object.keys(service) as CsiMethodName[]
    return Object.fromEntries(
      names.map((name) => {
        const answer = service[name] as (request: object) => Promise<object>
        return [name, (request: object) => this.#answer(name, request, answer)]
      }),
    )
  }

  async #answer(name: CsiMethodName, request: object, answer: (request: object) => Promise<object>): Promise<object> {
    this.calls.push({ name, request })
    const fault = this.#waiting.get(name)?.shift()
    if (fault?.kind === 'hang') await fault.until
    await this.delay()
    this.#answering++
    try {
      return await this.#answerAfter(fault, request, answer)
    } finally {
      this.#answering--
    }
  }

  async #answerAfter(fault: Fault | undefined, request: object, answer: (request: object) => Promise<object>): Promise<object> {
    switch (fault?.kind) {
      case 'fail':
        throw new GrpcError(fault.code, fault.message ?? 'told to fail')
      case 'lose':
        await answer(request)
        throw new GrpcError(grpcCodes.unavailable, 'the answer is lost')
      case 'twice':
        await answer(request)
        return answer(request)
      default:
        return answer(request)
    }
  }
}
