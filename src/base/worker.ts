import { type MessagePort, parentPort, type Transferable, Worker } from 'node:worker_threads'

/** A thread of its own, spoken to by messages. Messages arrive in the order they were posted. */
export type Thread<In, Out> = {
  /** What is transferred is gone on this side. */
  post(message: In, transfer?: ArrayBuffer[]): void
  onMessage(receive: (message: Out) => void): void
  /** Called once, when the thread has ended, for whatever reason. */
  onExit(receive: (error: Error | undefined) => void): void
  /** The program may end though the thread still runs, and may not once `hold` is called again. */
  release(): void
  hold(): void
  stop(): Promise<void>
}

/**
 * The module runs in the thread, and finds its side by `threadSide`. `youngMegabytes` is for objects that live for a moment: a thread that
 * makes many of them spends less time on tidying up where it has more.
 */
export function startThread<In, Out>(module: URL, { youngMegabytes = 1 }: { youngMegabytes?: number } = {}): Thread<In, Out> {
  // Flags such as --input-type or --test are meant for the program's own module only; how modules are loaded is the thread's business too.
  const preload = process.env['TYPERNETES_PRELOAD']
  const worker = new Worker(module, {
    execArgv: preload ? ['--import', preload] : [],
    resourceLimits: { maxYoungGenerationSizeMb: youngMegabytes },
  })
  let failure: Error | undefined
  worker.on('error', (error) => {
    failure = error instanceof Error ? error : new Error(String(error))
  })
  return {
    post: (message, transfer) => worker.postMessage(message, transfer ?? []),
    onMessage: (receive) => void worker.on('message', receive),
    onExit: (receive) => void worker.on('exit', () => receive(failure)),
    release: () => worker.unref(),
    hold: () => worker.ref(),
    async stop() {
      await worker.terminate()
    },
  }
}

export type ThreadSide<In, Out> = {
  post(message: Out, transfer?: ArrayBuffer[]): void
  onMessage(receive: (message: In) => void): void
}

/** Inside a thread: the way to the one who started it. */
export function threadSide<In, Out>(): ThreadSide<In, Out> {
  const port: MessagePort | null = parentPort
  if (!port) throw new Error('this module is meant to run in a thread of its own')
  return {
    post: (message, transfer) => port.postMessage(message, (transfer ?? []) as Transferable[]),
    onMessage: (receive) => void port.on('message', receive),
  }
}
