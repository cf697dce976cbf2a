import type { Random } from '#base/random.ts'
import type { DnsResponse } from '#dns/handler.ts'
import { type DnsPlugin, wrongOption } from '#dns/plugin.ts'
import type { DnsRecord } from '#wire/dns/dns-message.ts'

/** Gives addresses in another order each time, since most clients take the first. */
export const loadbalance: DnsPlugin = {
  name: 'loadbalance',
  setup([{ args, block, line }], { random }) {
    if (args.length > 1 || !['round_robin', undefined].includes(args[0]))
      throw new Error(`line ${line}: loadbalance: only round_robin is known`)
    for (const option of block) throw wrongOption('loadbalance', option)
    const mixed = (response: DnsResponse): DnsResponse => {
      const answers = shuffled(response.answers, random)
      const additional = shuffled(response.additional, random)
      return answers === response.answers && additional === response.additional ? response : { ...response, answers, additional }
    }
    return {
      handle: (next) => (request) => {
        const response = next(request)
        return response instanceof Promise ? response.then(mixed) : mixed(response)
      },
    }
  },
}

const isMovable = ({ type }: DnsRecord): boolean => type === 'A' || type === 'AAAA' || type === 'MX'

/** Names that lead to the addresses come first, in their order; the same list where there is nothing to mix. */
export function shuffled(records: readonly DnsRecord[], random: Random): readonly DnsRecord[] {
  if (records.length < 2) return records
  const movable = records.filter(isMovable)
  if (movable.length < 2) return records
  for (let index = movable.length - 1; index > 0; index--) {
    const other = random.int(index + 1)
    const held = movable[index] as DnsRecord
    movable[index] = movable[other] as DnsRecord
    movable[other] = held
  }
  return [...records.filter((record) => !isMovable(record)), ...movable]
}
