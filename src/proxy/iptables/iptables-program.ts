import type { Processes } from '#base/processes.ts'
import type { IpFamily } from '#proxy/service-table/service-port.ts'

/** One that hangs must not stop everything; tens of thousands of rules take seconds. */
const longestMs = 120_000

/** `''`: what the machine's `iptables` is. */
export type IptablesVariant = '' | '-nft' | '-legacy'

/** The programs of iptables for one family. Commands throw in iptables' words. */
export class IptablesProgram {
  readonly #processes: Processes
  readonly #name: string

  constructor(processes: Processes, family: IpFamily, variant: IptablesVariant = '') {
    this.#processes = processes
    this.#name = `${family === 'IPv4' ? 'iptables' : 'ip6tables'}${variant}`
  }

  async restore(text: string): Promise<void> {
    const { exitCode, stderr } = await this.#processes.run(`${this.#name}-restore`, ['-w', '5', '--noflush', '--counters'], {
      input: text,
      timeoutMs: longestMs,
    })
    if (exitCode !== 0) throw new Error(`${this.#name}-restore: ${explained(stderr, text)}`)
  }

  /** The names of a table's chains. */
  async chains(table: 'nat' | 'filter'): Promise<string[]> {
    const { exitCode, stdout, stderr } = await this.#processes.run(`${this.#name}-save`, ['-t', table], { timeoutMs: longestMs })
    if (exitCode !== 0) throw new Error(`${this.#name}-save: ${stderr.trim()}`)
    return [...stdout.matchAll(/^:(\S+) /gm)].map(([, name = '']) => name)
  }

  async has(table: string, chain: string, rule: readonly string[]): Promise<boolean> {
    return (await this.#run(['-t', table, '-C', chain, ...rule])).exitCode === 0
  }

  /** At the chain's beginning. */
  async insert(table: string, chain: string, rule: readonly string[]): Promise<void> {
    const { exitCode, stderr } = await this.#run(['-t', table, '-I', chain, ...rule])
    if (exitCode !== 0) throw new Error(`${this.#name}: ${stderr.trim()}`)
  }

  /** That it is not there is as good. */
  async remove(table: string, chain: string, rule: readonly string[]): Promise<void> {
    await this.#run(['-t', table, '-D', chain, ...rule])
  }

  #run(args: readonly string[]) {
    return this.#processes.run(this.#name, ['-w', '5', ...args], { timeoutMs: longestMs })
  }
}

/** With the line that is spoken of. */
function explained(stderr: string, text: string): string {
  const line = /line:? (\d+)/.exec(stderr)?.[1]
  const spoken = line === undefined ? '' : `: ${text.split('\n')[Number(line) - 1]}`
  return `${stderr.trim()}${spoken}`
}
