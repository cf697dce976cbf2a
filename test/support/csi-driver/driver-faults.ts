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

export class DriverFaults {
  readonly #waiting = new Map<CsiMethodName, Fault[]>()
  /** Every call that came, in order. */
  readonly calls: { name: CsiMethodName; request: object }[] = []

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
    switch (fault?.kind) {
      case 'fail':
        throw new GrpcError(fault.code, fault.message ?? 'told to fail')
      case 'hang':
        await fault.until
        return answer(request)
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
