/** What a user sees while a cluster starts: its parts, each with a mark and a time on a terminal, plain lines in a pipe. */
import { wantsColour } from '#base/process-logger.ts'
import { thisTerminal } from '#base/terminal.ts'

/** The stages that a user knows as parts of a cluster, and what they are called. Others go by unseen. */
const partOfStage: Readonly<Record<string, string>> = {
  store: 'Store',
  apiserver: 'API server',
  controllers: 'Controllers',
  scheduler: 'Scheduler',
  storage: 'Storage',
  'service catalog': 'Service catalog',
  'add-ons': 'Add-ons',
  dns: 'DNS',
  'load balancer': 'Load balancer',
  ingress: 'Ingress',
  'metrics server': 'Metrics server',
  'simulated nodes': 'Simulated nodes',
  calico: 'Calico',
  node: 'Node',
  services: 'Services',
  nodes: 'Nodes in namespaces',
}

export type ProgressScreen = { isTerminal: boolean; isColoured: boolean; write(text: string): void }

export const progressScreen = (): ProgressScreen => {
  const isTerminal = thisTerminal.outputIsTerminal
  return { isTerminal, isColoured: isTerminal && wantsColour(), write: (text) => thisTerminal.write(text) }
}

/** Takes what `Lifecycle` tells of its stages. */
export function stageProgress(screen: ProgressScreen): (stage: string, tookMs?: number) => void {
  return (stage, tookMs) => {
    const part = partOfStage[stage]
    if (part === undefined) return
    if (tookMs !== undefined) screen.write(startedLine(part, tookMs, screen))
    // Stays until the part is there, or until somebody else writes.
    else if (screen.isTerminal) screen.write(`  … ${part}`)
  }
}

/** Of a part that has started. */
export function startedLine(part: string, tookMs: number, { isTerminal, isColoured }: Omit<ProgressScreen, 'write'>): string {
  const time = `${(tookMs / 1000).toFixed(2)} s`
  if (!isTerminal) return `${part} started (${time})\n`
  const mark = isColoured ? '\u001b[32m✓\u001b[0m' : '✓'
  return `\r\u001b[K  ${mark} ${part.padEnd(20)} ${time}\n`
}

/** A line that `startedLine` wrote into a pipe, as it is shown on a terminal; undefined where it is something else. */
export function parseStartedLine(line: string): { part: string; tookMs: number } | undefined {
  const [, part, seconds] = /^(.+) started \((\d+\.\d\d) s\)$/.exec(line) ?? []
  return part === undefined ? undefined : { part, tookMs: Number(seconds) * 1000 }
}
