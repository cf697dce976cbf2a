import type { Timer } from '#base/clock.ts'
import { dnsResponse, ownRequest } from '#dns/handler.ts'
import type { DnsPlugin } from '#dns/plugin.ts'
import { rcodes, recordTypes } from '#wire/dns/record-type.ts'

/** What nobody asks for by chance. */
const probeType = recordTypes.NAPTR
const patienceMs = 30_000

/** Finds out whether questions that are sent on come back, and stops sending them then. */
export const loop: DnsPlugin = {
  name: 'loop',
  setup(_directives, { zones, random, clock, logger }) {
    const [zone = '.'] = zones
    const label = () => String(Buffer.from(random.bytes(8)).readBigUInt64BE())
    const probe = `${label()}.${label()}.${zone === '.' ? '' : zone}`
    let isWatching = true
    let isLooping = false
    let timer: Timer | undefined
    let send: (() => void) | undefined
    return {
      start() {
        timer = clock.after(patienceMs, () => {
          isWatching = false
        })
        send?.()
      },
      stop: () => timer?.cancel(),
      handle: (next) => {
        // Ours does not come by way of the server: one that does has come back.
        send = () => void Promise.try(() => next(ownRequest(probe, probeType))).catch(() => {})
        return (request) => {
          if (isWatching && request.name === probe && !isLooping) {
            isLooping = true
            const see = 'https://coredns.io/plugins/loop#troubleshooting'
            logger.error('Loop detected: what is forwarded comes back; nothing is forwarded until the configuration changes', { zone, see })
          }
          return isLooping ? dnsResponse({ rcode: rcodes.SERVFAIL }) : next(request)
        }
      },
    }
  },
}
