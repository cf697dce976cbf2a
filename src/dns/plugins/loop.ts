import type { Timer } from '#base/clock.ts'
import { dnsResponse } from '#dns/handler.ts'
import type { DnsPlugin } from '#dns/plugin.ts'
import { isWithin } from '#wire/dns/dns-name.ts'
import { rcodes, recordTypes } from '#wire/dns/record-type.ts'

/** What nobody asks for by chance. */
const probeType = recordTypes.NAPTR
/** The first is our own. */
const probes = 2
const patienceMs = 30_000

/** Finds out whether questions that are sent on come back, and stops sending them then. */
export const loop: DnsPlugin = {
  name: 'loop',
  setup(_directives, { zones, random, clock, logger, lookup }) {
    const [zone = '.'] = zones
    const label = () => String(Buffer.from(random.bytes(8)).readBigUInt64BE())
    const probe = `${label()}.${label()}.${zone === '.' ? '' : zone}`
    let isWatching = true
    let seen = 0
    let isLooping = false
    let timer: Timer | undefined
    return {
      start() {
        timer = clock.after(patienceMs, () => {
          isWatching = false
        })
        lookup(probe, probeType).catch(() => {})
      },
      stop: () => timer?.cancel(),
      handle: (next) => (request) => {
        if (isLooping && request.name !== probe) return dnsResponse({ rcode: rcodes.SERVFAIL })
        if (isWatching && request.type === probeType && request.name === probe && isWithin(request.name, zone) && ++seen >= probes) {
          if (!isLooping) {
            logger.error(
              'Loop detected: questions that are forwarded come back to this server; none is forwarded until it is configured anew',
              {
                zone,
                see: 'https://coredns.io/plugins/loop#troubleshooting',
              },
            )
          }
          isLooping = true
          return dnsResponse({ rcode: rcodes.SERVFAIL })
        }
        return next(request)
      },
    }
  },
}
