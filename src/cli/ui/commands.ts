/** Commands of kubectl's that the view runs: their output is caught, or the terminal lent to them. */
import type { Call } from '#cli/call.ts'
import { globalFlags } from '#cli/flags/command-spec.ts'
import type { Host } from '#cli/host.ts'
import { runKubectl } from '#cli/kubectl.ts'

type Listener = (piece: Uint8Array) => void

export class Commands {
  readonly #call: Call
  readonly #common: string[]
  readonly #forwards = new Map<string, AbortController>()
  #listener: Listener = () => {}

  constructor(call: Call) {
    this.#call = call
    // The same cluster, as the same user.
    this.#common = globalFlags()
      .filter(({ name }) => call.flags.isSet(name) && name !== 'namespace')
      .flatMap(({ name, type }) =>
        (type === 'list' || type === 'array' ? call.flags.list(name) : [call.flags.text(name)]).map((value) => `--${name}=${value}`),
      )
  }

  /** Ports that lead into the cluster, as they were asked for. */
  get forwards(): string[] {
    return [...this.#forwards.keys()]
  }

  /** The terminal's input has one reader for as long as the view is open; who is told of it may change. */
  listen(listener: Listener): void {
    this.#listener = listener
    void (async () => {
      for await (const piece of this.#call.host.terminal.input()) this.#listener(piece)
    })().catch(() => {})
  }

  /** What a command says on both streams. */
  async show(args: readonly string[], signal: AbortSignal, onText: (text: string) => void): Promise<number> {
    const decoder = new TextDecoder()
    const write = (text: string | Uint8Array) => onText(typeof text === 'string' ? text : decoder.decode(text, { stream: true }))
    return runKubectl([...args, ...this.#common], { ...this.#host(signal), write, complain: write })
  }

  /** Lends the terminal to a command until it ends. */
  async talk(args: readonly string[]): Promise<number> {
    const former = this.#listener
    const queue: Uint8Array[] = []
    let wake = () => {}
    const ended = new AbortController()
    this.#listener = (piece) => {
      queue.push(piece)
      wake()
    }
    const input = async function* () {
      while (!ended.signal.aborted) {
        const piece = queue.shift()
        if (piece !== undefined) yield piece
        else
          await new Promise<void>((resolve) => {
            wake = resolve
          })
      }
    }
    const { terminal } = this.#call.host
    const lent = Object.create(terminal, { input: { value: input } }) as Host['terminal']
    const dash = args.indexOf('--')
    try {
      return await runKubectl([...args.slice(0, dash), ...this.#common, ...args.slice(dash)], { ...this.#call.host, terminal: lent })
    } finally {
      ended.abort()
      wake()
      this.#listener = former
    }
  }

  /** Runs until the view is closed, or it fails. */
  forward(args: readonly string[], title: string, onProblem: (text: string) => void): void {
    const stop = new AbortController()
    this.#forwards.set(title, stop)
    let problem = ''
    void this.show(['port-forward', ...args], stop.signal, (text) => {
      if (/error|unable|lost/i.test(text)) problem = text.trim()
    }).then(() => {
      this.#forwards.delete(title)
      if (problem !== '') onProblem(problem)
    })
  }

  stop(): void {
    for (const stop of this.#forwards.values()) stop.abort()
  }

  #host(signal: AbortSignal): Host {
    const { host } = this.#call
    return { ...host, interrupted: AbortSignal.any([host.interrupted, signal]) }
  }
}
