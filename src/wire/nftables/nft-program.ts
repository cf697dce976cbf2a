/** The program `nft`: applying text, and asking what is there. */
import { defined } from '#base/defined.ts'
import type { Processes } from '#base/processes.ts'
import { ResidentShell } from '#base/resident-shell.ts'
import { findCulprits } from '#wire/nftables/find-culprits.ts'
import type { NftFamily, NftTable, PresentNames } from '#wire/nftables/nft-table.ts'

export class NftError extends Error {
  override name = 'NftError'
}

export type NftProgram = {
  /** All of the text, or nothing of it. Throws an NftError in nft's words. */
  apply(text: string): Promise<void>
  /** What nft would say of the text, where it would not apply it; changes nothing. */
  check(text: string): Promise<string | undefined>
  /** The names in a table; undefined where there is no such table. */
  present(family: NftFamily, table: string): Promise<PresentNames | undefined>
  hasChain(family: NftFamily, table: string, chain: string): Promise<boolean>
  deleteTable(family: NftFamily, table: string): Promise<void>
  /** Gives back what is held between calls; calling on takes it again. */
  close(): void
}

/** A shell reads its input letter by letter: beyond this a process of its own is faster. */
const shellInputMax = 50_000

/** One that hangs must not stop everything; a hundred thousand elements take seconds. */
const longestMs = 120_000

/** `command` may put the program into another place: `['ip', 'netns', 'exec', 'node-1', 'nft']`. */
export function nftProgram(processes: Processes, command: readonly [string, ...string[]] = ['nft']): NftProgram {
  const [program, ...first] = command
  const run = (args: readonly string[], input?: string) =>
    processes.run(program, [...first, ...args], { timeoutMs: longestMs, ...defined({ input }) })
  const shell = new ResidentShell(processes, { longestMs })
  const listed = async (kind: 'chains' | 'sets' | 'maps', family: NftFamily, table: string): Promise<string[]> => {
    const { stdout } = await run(['-t', 'list', kind, family])
    return namesIn(stdout, family, table)
  }
  return {
    async apply(text) {
      if (text.length > shellInputMax) {
        const { exitCode, stderr } = await run(['-f', '-'], text)
        if (exitCode !== 0) throw new NftError(firstLines(stderr))
        return
      }
      const { exitCode, output } = await shell.run([...command, '-f', '-'], text)
      if (exitCode !== 0) throw new NftError(firstLines(output))
    },
    async check(text) {
      const { exitCode, stderr } = await run(['-c', '-f', '-'], text)
      return exitCode === 0 ? undefined : firstLines(stderr)
    },
    async present(family, table) {
      const { stdout } = await run(['list', 'tables', family])
      if (!stdout.split('\n').includes(`table ${family} ${table}`)) return undefined
      const chains = await listed('chains', family, table)
      const sets = (await listed('sets', family, table)).map((name) => ({ name, isMap: false }))
      const maps = (await listed('maps', family, table)).map((name) => ({ name, isMap: true }))
      return { chains, sets: [...sets, ...maps] }
    },
    async hasChain(family, table, chain) {
      return (await run(['list', 'chain', family, table, chain])).exitCode === 0
    },
    async deleteTable(family, table) {
      await run(['-f', '-'], `add table ${family} ${table}\ndelete table ${family} ${table}\n`)
    },
    close: () => shell.close(),
  }
}

/**
 * Applies what has changed, or where nothing is known of the kernel's state, all of it. What is put into the table while nft is at
 * work is of the next time: the table is settled with the text, and where this rejects, all of it has to be applied again. `update` puts
 * in what has been told so far, right before the text is made.
 *
 * Where nft does not take all of it, those are found whose fragments it refuses: they are left out, which the table tells of, and the rest is
 * applied.
 */
export async function bringAbout(
  table: NftTable,
  nft: NftProgram,
  { isFull, keeps, update = () => {} }: { isFull: boolean; keeps(set: string): boolean; update?(): unknown },
): Promise<void> {
  const present = isFull ? ((await nft.present(table.family, table.name)) ?? nobody) : undefined
  if (isFull) table.retryLeftOut()
  const apply = async (textNow: () => string): Promise<void> => {
    await update()
    const text = textNow()
    table.settle()
    if (text !== '') await nft.apply(text)
  }
  if (present === undefined) {
    await apply(() => table.changes())
    table.prove()
    return
  }
  const takeOver = () => apply(() => table.everything(present, keeps))
  // Where something stands in the way that cannot be changed in place, such as a hook of another version of us.
  const makeAnew = () => apply(() => table.anew())
  await takeOver()
    .catch(orElse(makeAnew))
    .catch(
      orElse(async (error) => {
        const culprits = await findCulprits(table, nft)
        if (culprits.length === 0) throw error
        for (const culprit of culprits) table.leaveOut(culprit)
        await takeOver().catch(orElse(makeAnew))
      }),
    )
  table.prove()
}

/** Does something else where nft refuses a text; that it could not be run is another matter. */
const orElse =
  (otherwise: (error: NftError) => Promise<void>) =>
  (error: unknown): Promise<void> => {
    if (!(error instanceof NftError)) throw error
    return otherwise(error)
  }

const nobody: PresentNames = { chains: [], sets: [] }

/** From nft's listing: names are indented once, below their table. */
function namesIn(listing: string, family: string, table: string): string[] {
  const names: string[] = []
  let isOurs = false
  for (const line of listing.split('\n')) {
    if (line.startsWith('table ')) isOurs = line === `table ${family} ${table} {`
    const name = isOurs ? /^\t(?:chain|set|map) (\S+) \{/.exec(line)?.[1] : undefined
    if (name !== undefined) names.push(name)
  }
  return names
}

function firstLines(text: string): string {
  const lines = text.trim().split('\n')
  return lines.length <= 6 ? lines.join('\n') : `${lines.slice(0, 6).join('\n')}\n… ${lines.length - 6} more lines`
}
