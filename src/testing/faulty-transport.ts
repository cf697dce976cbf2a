/** A road on which things go wrong, by chance of a seed: requests fail, answers are lost, writes come twice or late, watches break. */
import type { Clock } from '#base/clock.ts'
import type { Random } from '#base/random.ts'
import type { Transport } from '#client/transport.ts'

export type FaultRates = { fails: number; losesAnswer: number; repeats: number; delays: number; cutsWatch: number }

/** Nothing goes wrong: what a storm has left behind can be looked at once the longest back-off is over. */
export const calm: FaultRates = { fails: 0, losesAnswer: 0, repeats: 0, delays: 0, cutsWatch: 0 }

/** `rates` is read anew at each request, so that a test may let the storm pass. */
export function faultyTransport(transport: Transport, { clock, random }: { clock: Clock; random: Random }, rates: FaultRates): Transport {
  const happens = (rate: number) => random.float() < rate
  return {
    async send(request) {
      if (request.target.includes('watch=true')) {
        const response = await transport.send(request)
        const { values } = response
        return {
          ...response,
          header: (name) => response.header(name),
          text: () => response.text(),
          chunks: () => cut(response.chunks(), happens, rates),
          ...(values && { values: () => cut(values(), happens, rates) }),
        }
      }
      if (happens(rates.delays)) await clock.sleep(random.int(3000))
      if (happens(rates.fails)) throw new Error('the connection was refused')
      const isWrite = request.method !== 'GET'
      if (isWrite && happens(rates.repeats)) await (await transport.send(request)).text()
      const response = await transport.send(request)
      if (isWrite && happens(rates.losesAnswer)) {
        await response.text()
        throw new Error('the connection broke before the answer came')
      }
      return response
    },
  }
}

async function* cut<T>(pieces: AsyncIterable<T>, happens: (rate: number) => boolean, rates: FaultRates): AsyncGenerator<T> {
  for await (const piece of pieces) {
    if (happens(rates.cutsWatch)) throw new Error('the watch broke')
    yield piece
  }
}
