/** The program `nft`: applying text, and asking what is there. */
import type { Processes } from '#base/processes.ts'
import { ResidentShell } from '#base/resident-shell.ts'
import type { NftFamily, NftTable, PresentNames } from '#wire/nftables/nft-table.ts'

class NftError extends Error {
  override name = 'NftError'
}

export type NftProgram = {
  /** All of the text, or nothing of it. Throws an NftError in nft's words. */
  apply(text: string): Promise<void>
  /** The names in a table; undefined where there is no such table. */
  present(family: NftFamily, table: string): Promise<PresentNames | undefined>
  hasChain(family: NftFamily, table: string, chain: string): Promise<boolean>
  deleteTable(family: NftFamily, table: string): Promise<void>
  /** Gives back what is held between calls; calling on takes it again. */
  close(): void
}

/** A shell reads its input letter by letter: beyond this a process of its own is faster. */
const shellInputMax = 50_000

/** `command` may put the program into another place: `['ip', 'netns', 'exec', 'node-1', 'nft']`. */
export function nftProgram(processes: Processes, command: readonly [string, ...string[]] = ['nft']): NftProgram {
  const [program, ...first] = command
  const run = (args: readonly string[], input?: string) => processes.run(program, [...first, ...args], input === undefined ? {} : { input })
  const shell = new ResidentShell(processes)
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
 */
export async function bringAbout(
  table: NftTable,
  nft: NftProgram,
  { isFull, keeps, update = () => {} }: { isFull: boolean; keeps(set: string): boolean; update?(): unknown },
): Promise<void> {
  const present = isFull ? ((await nft.present(table.family, table.name)) ?? nobody) : undefined
  update()
  const text = present === undefined ? table.changes() : table.everything(present, keeps)
  table.settle()
  if (text === '') return
  try {
    await nft.apply(text)
  } catch (error) {
    if (!(isFull && error instanceof NftError)) throw error
    // Something stands in the way that cannot be changed in place, such as a hook of another version of us.
    update()
    const anew = table.anew()
    table.settle()
    await nft.apply(anew)
  }
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
