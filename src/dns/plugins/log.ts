import type { DnsRequest, DnsResponse } from '#dns/handler.ts'
import { type DnsPlugin, wrongOption } from '#dns/plugin.ts'
import { rcodeName, recordTypeName } from '#wire/dns/record-type.ts'

/** A line for each question. */
export const log: DnsPlugin = {
  name: 'log',
  setup([{ args, block, line }], { logger, clock }) {
    for (const option of block) throw wrongOption('log', option)
    if (args.length > 0) throw new Error(`line ${line}: log: zones and formats are not understood`)
    const note = ({ asked, type, from, protocol }: DnsRequest, startedMs: number, rcode: string) => {
      const seconds = (clock.monotonic() - startedMs) / 1000
      logger.info('answered DNS query', {
        name: asked,
        type: recordTypeName(type),
        client: `${from.host}:${from.port}`,
        protocol,
        rcode,
        seconds,
      })
    }
    return {
      handle: (next) => (request) => {
        const startedMs = clock.monotonic()
        const response = next(request)
        const logged = (each: DnsResponse): DnsResponse => {
          note(request, startedMs, rcodeName(each.rcode))
          return each
        }
        if (!(response instanceof Promise)) return logged(response)
        return response.then(logged, (error: unknown) => {
          note(request, startedMs, 'SERVFAIL')
          throw error
        })
      },
    }
  },
}
