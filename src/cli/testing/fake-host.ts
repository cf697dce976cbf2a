/** A host for commands in this process: a terminal of memory, and a server that is a function. */
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import type { HttpClientRequest, HttpClientResponse } from '#base/http-client.ts'
import { nodeProcesses } from '#base/processes.ts'
import type { Host } from '#cli/host.ts'

export type FakeAnswer = {
  status?: number
  body: unknown /** Lines that follow as they come; the answer ends with the request's signal. */
  events?: AsyncIterable<unknown>
}

export type FakeHost = Host & {
  output(): string
  errors(): string
  /** The rows of the screen, without styles. */
  screen(): string[]
  press(keys: string): void
  interrupt(): void
}

export type FakeHostOptions = {
  answer(request: HttpClientRequest & { path: string }): FakeAnswer | undefined
  homeDirectory: string
  isTerminal?: boolean
  isForPeople?: boolean
  environment?: Record<string, string>
  size?: { columns: number; rows: number }
}

export function fakeHost({
  answer,
  homeDirectory,
  isTerminal = true,
  isForPeople = false,
  environment = {},
  size = { columns: 100, rows: 20 },
}: FakeHostOptions): FakeHost {
  let output = ''
  let errors = ''
  const typed: Uint8Array[] = []
  let wake = () => {}
  const interrupt = new AbortController()
  const write = (text: string | Uint8Array) => {
    output += typeof text === 'string' ? text : Buffer.from(text).toString()
  }
  return {
    environment: { TERM: 'xterm', ...environment },
    homeDirectory,
    files: nodeFiles,
    processes: nodeProcesses,
    clock: systemClock,
    isForPeople,
    interrupted: interrupt.signal,
    http: () => ({
      request: async (request) => responseTo(answer({ ...request, path: new URL(request.url).pathname }), request.signal),
      [Symbol.dispose]() {},
    }),
    write,
    complain(text) {
      errors += text
    },
    terminal: {
      inputIsTerminal: isTerminal,
      outputIsTerminal: isTerminal,
      ...size,
      write,
      complain(text) {
        errors += text
      },
      readAll: async () => new Uint8Array(),
      async *input() {
        while (!interrupt.signal.aborted) {
          const piece = typed.shift()
          if (piece !== undefined) yield piece
          else
            await new Promise<void>((resolve) => {
              wake = resolve
            })
        }
      },
      setRawMode() {},
      onResize: () => ({ [Symbol.dispose]() {} }),
      onInterrupt() {},
      hand: () => 0,
    },
    output: () => output,
    errors: () => errors,
    screen: () => screenOf(output),
    press(keys) {
      typed.push(Buffer.from(keys))
      wake()
    },
    interrupt() {
      interrupt.abort()
      wake()
    },
  }
}

function responseTo(
  { status = 200, body, events }: FakeAnswer = { status: 404, body: notFound },
  signal?: AbortSignal,
): HttpClientResponse {
  const text = JSON.stringify(body)
  const lines = async function* () {
    if (events === undefined) {
      yield Buffer.from(text)
      return
    }
    for await (const event of events) yield Buffer.from(`${JSON.stringify(event)}\n`)
    await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  }
  return { status, headers: { 'content-type': 'application/json' }, body: lines(), text: async () => text }
}

const notFound = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', message: 'not found', code: 404 }

// biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences that place lines
const placed = /\u001b\[(\d+);1H(.*?)\u001b\[0m\u001b\[K/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: styles
const styles = /\u001b\[[0-9;?]*[A-Za-z]/g

/** What a terminal would show after all that was written to it: whole lines at places, as the view draws them. */
function screenOf(output: string): string[] {
  const rows: string[] = []
  for (const [, row = '', line = ''] of output.matchAll(placed)) rows[Number(row) - 1] = line.replaceAll(styles, '').trimEnd()
  return Array.from(rows, (row) => row ?? '')
}
