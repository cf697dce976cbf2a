/** `tn get --watch` on a terminal: the table stays where it is and is drawn anew, instead of growing by a line for each change. */
import type { Call } from '#cli/call.ts'
import type { WatchTarget } from '#cli/commands/get-watch.ts'
import { colouredTable } from '#cli/print/colours.ts'
import { aligned, LiveTable } from './live-table.ts'
import { fitted } from './screen.ts'

export async function redrawTable(call: Call, target: WatchTarget): Promise<void> {
  const { host, flags } = call
  const { terminal, clock, interrupted } = host
  const table = new LiveTable(call, target)
  const isWide = flags.text('output') === 'wide'
  let drawn = 0
  let isWaiting = false
  const draw = () => {
    isWaiting = false
    const room = Math.max(3, terminal.rows - 2)
    const rows = table.rows(isWide)
    const shown = rows.slice(0, room - 1)
    const lines = aligned([table.headings(isWide), ...shown.map(({ cells }) => cells)]).map((line) => fitted(line, terminal.columns))
    if (rows.length > shown.length) lines.push(`… and ${rows.length - shown.length} more`)
    const text = colouredTable(`${lines.join('\n')}\n`, { hasHeadings: true })
    host.write(`${drawn > 0 ? `\u001b[${drawn}A\u001b[J` : ''}${text}`)
    drawn = lines.length
  }
  // Many changes at once are drawn once.
  const later = () => {
    if (isWaiting) return
    isWaiting = true
    void clock.sleep(100, interrupted).then(draw, () => {})
  }
  await table.run(interrupted, later)
}
