/** A road on which exactly one write goes wrong. */
import type { Transport } from '#client/transport.ts'

export type WriteFault = {
  /** Counted from 0; none goes wrong where there are fewer. */
  at: number
  /** `refused`: it never arrives. `lost`: it is done, and nobody hears of it. */
  how: 'refused' | 'lost'
  /** Of the paths that count; all where absent. */
  only?: RegExp
}

/** Writes of events and leases are not counted: nothing depends on them. Tells how many there were in `count`. */
export function failingWrite(transport: Transport, fault: WriteFault, count: { writes: number }): Transport {
  return {
    async send(request) {
      if (request.method === 'GET' || /\/(events|leases)([/?]|$)/.test(request.target)) return transport.send(request)
      if (fault.only !== undefined && !fault.only.test(request.target)) return transport.send(request)
      const isTheOne = count.writes++ === fault.at
      if (!isTheOne) return transport.send(request)
      if (fault.how === 'refused') throw new Error('the connection was refused')
      await (await transport.send(request)).text()
      throw new Error('the connection broke before the answer came')
    },
  }
}
