import { type DnsPlugin, wrongOption } from '#dns/plugin.ts'
import { recordTypeName } from '#wire/dns/record-type.ts'

/** Whoever asks for what cannot be found, again and again, does not fill the disk with it. */
const linesEachWindow = 50
const windowMs = 10_000

/** A line for each question that could not be answered; where there are very many, one that says how many there were. */
export const errors: DnsPlugin = {
  name: 'errors',
  setup([{ block, args, line }], { logger, clock }) {
    for (const option of block) throw wrongOption('errors', option)
    if (args.length > 0) throw new Error(`line ${line}: errors takes nothing`)
    let windowEndMs = 0
    let told = 0
    let untold = 0
    const tell = (name: string, type: number, why: string): void => {
      const nowMs = clock.monotonic()
      if (nowMs >= windowEndMs) {
        if (untold > 0) logger.error('failed to answer more DNS queries', { count: untold })
        windowEndMs = nowMs + windowMs
        told = 0
        untold = 0
      }
      if (++told > linesEachWindow) untold++
      else logger.error('failed to answer DNS query', { name, type: recordTypeName(type), error: why })
    }
    return {
      handle: (next) => (request) => {
        const fail = (error: unknown): never => {
          tell(request.asked, request.type, error instanceof Error ? error.message : String(error))
          throw error
        }
        try {
          const response = next(request)
          return response instanceof Promise ? response.catch(fail) : response
        } catch (error) {
          return fail(error)
        }
      },
    }
  },
}
