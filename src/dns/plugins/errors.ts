import { type DnsPlugin, wrongOption } from '#dns/plugin.ts'
import { recordTypeName } from '#wire/dns/record-type.ts'

/** A line for each question that could not be answered. */
export const errors: DnsPlugin = {
  name: 'errors',
  setup([{ block, args, line }], { logger }) {
    for (const option of block) throw wrongOption('errors', option)
    if (args.length > 0) throw new Error(`line ${line}: errors takes nothing`)
    return {
      handle: (next) => (request) => {
        const tell = (error: unknown): never => {
          const why = error instanceof Error ? error.message : String(error)
          logger.error('failed to answer DNS query', { name: request.asked, type: recordTypeName(request.type), error: why })
          throw error
        }
        try {
          const response = next(request)
          return response instanceof Promise ? response.catch(tell) : response
        } catch (error) {
          return tell(error)
        }
      },
    }
  },
}
