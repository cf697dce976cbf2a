import { AnswerCache } from '#dns/cache/answer-cache.ts'
import type { CacheSettings } from '#dns/cache/cache-settings.ts'
import { parseDuration } from '#dns/corefile/duration.ts'
import type { Directive } from '#dns/corefile/parse-corefile.ts'
import { zoneName } from '#dns/corefile/zone-address.ts'
import { type DnsPlugin, wholeNumberAt, wrongOption } from '#dns/plugin.ts'
import { isWithin } from '#wire/dns/dns-name.ts'

const usualCapacity = 9984

/** Remembers what those behind it have answered. */
export const cache: DnsPlugin = {
  name: 'cache',
  setup([directive], context) {
    const { zones, settings } = readSettings(directive, context.zones)
    return {
      handle: (next) => {
        const answers = new AnswerCache(settings, next, context)
        return (request) => (zones.some((zone) => isWithin(request.name, zone)) ? answers.ask(request) : next(request))
      },
    }
  },
}

function readSettings(
  { args, block, line }: Directive,
  blockZones: readonly string[],
): { zones: readonly string[]; settings: CacheSettings } {
  const hasTtl = /^\d+$/.test(args[0] ?? '')
  const longest = hasTtl ? Number(args[0]) : undefined
  const names = hasTtl ? args.slice(1) : args
  const settings: CacheSettings = {
    success: { capacity: usualCapacity, longestSeconds: longest ?? 3600, shortestSeconds: 5, except: [] },
    denial: { capacity: usualCapacity, longestSeconds: longest ?? 1800, shortestSeconds: 5, except: [] },
    ...{ failureSeconds: 5, prefetch: undefined, staleMs: 0, verifiesStale: false, keepsTtl: false },
  }
  for (const option of block) readOption(option, settings)
  return { zones: names.length === 0 ? blockZones : names.map((zone) => zoneName(zone, line)), settings }
}

function readOption(option: Directive, settings: CacheSettings): void {
  const { name, args, line } = option
  if (name === 'success' || name === 'denial') {
    const kind = settings[name]
    kind.capacity = wholeNumberAt(option, 0)
    kind.longestSeconds = wholeNumberAt(option, 1, kind.longestSeconds)
    kind.shortestSeconds = wholeNumberAt(option, 2, kind.shortestSeconds)
  } else if (name === 'prefetch') {
    const percent = /^(\d+)%$/.exec(args[2] ?? '10%')?.[1]
    if (percent === undefined || Number(percent) < 10 || Number(percent) > 90)
      throw new Error(`line ${line}: prefetch: ${args[2]} is not a valid percentage from 10% to 90%`)
    settings.prefetch = { amount: wholeNumberAt(option, 0), gapMs: parseDuration(args[1] ?? '1m', line), share: Number(percent) / 100 }
  } else if (name === 'serve_stale') {
    settings.staleMs = parseDuration(args[0] ?? '1h', line)
    settings.verifiesStale = args[1] === 'verify'
    if (args.length > 2 || !['immediate', 'verify'].includes(args[1] ?? 'immediate')) throw wrongOption('cache', option)
  } else if (name === 'servfail') settings.failureSeconds = Math.min(parseDuration(args[0] ?? '', line) / 1000, 300)
  else if (name === 'disable' && (args[0] === 'success' || args[0] === 'denial')) {
    const zones = args.slice(1).map((zone) => zoneName(zone, line))
    settings[args[0]].except.push(...(zones.length === 0 ? ['.'] : zones))
  } else if (name === 'keepttl') settings.keepsTtl = true
  else throw wrongOption('cache', option)
}
