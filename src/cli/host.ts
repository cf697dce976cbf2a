/** Everything outside that a command may touch, so that a test can run one in this process. */
import { type Clock, systemClock } from '#base/clock.ts'
import { type Files, nodeFiles } from '#base/files.ts'
import { type HttpClient, type HttpClientOptions, nodeHttpClient } from '#base/http-client.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { nodeProcesses, type Processes } from '#base/processes.ts'
import { type Terminal, thisTerminal } from '#base/terminal.ts'

export type Host = {
  environment: Readonly<Record<string, string | undefined>>
  homeDirectory: string
  files: Files
  processes: Processes
  clock: Clock
  terminal: Terminal
  /** Aborted when the user wants the command to end (Ctrl-C). */
  interrupted: AbortSignal
  http(options: HttpClientOptions): HttpClient
  /** People, not scripts, are at the other end: tables have colours and are redrawn, where the output is a terminal. */
  isForPeople?: boolean
  /** Standard output and error. */
  write(text: string | Uint8Array): void
  complain(text: string): void
}

export function thisHost(): Host {
  const interrupt = new AbortController()
  thisTerminal.onInterrupt(() => interrupt.abort())
  return {
    environment: thisProcess.environment,
    homeDirectory: thisMachine().homeDirectory,
    files: nodeFiles,
    processes: nodeProcesses,
    clock: systemClock,
    terminal: thisTerminal,
    interrupted: interrupt.signal,
    http: nodeHttpClient,
    write: (text) => thisTerminal.write(text),
    complain: (text) => thisTerminal.complain(text),
  }
}
