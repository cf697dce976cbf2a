import type { Files } from '#base/files.ts'
import type { Sqlite } from '#base/sqlite.ts'
import { startThread } from '#base/worker.ts'
import { openError } from '#store/sqlite/file-errors.ts'
import { FileServer } from '#store/sqlite/file-server.ts'
import type { CallName, FileCalls, FileReply, FileRequest } from '#store/sqlite/thread-protocol.ts'
import { StoreError } from '#store/store.ts'

/** The road to a file server. */
export type FileChannel = {
  post(request: FileRequest, transfer: ArrayBuffer[]): void
  onReply(receive: (reply: FileReply) => void): void
  /** Called once, when nobody will answer any more. */
  onLost(receive: (error: Error) => void): void
  stop(): Promise<void>
}

type Waiting = { resolve(gives: never): void; reject(error: Error): void; onRecords: ((records: Uint8Array) => void) | undefined }

/** Calls to the thread that owns the file. */
export class FileClient {
  readonly #channel: FileChannel
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0
  #lost: Error | undefined

  constructor(channel: FileChannel) {
    this.#channel = channel
    channel.onReply((reply) => this.#receive(reply))
    channel.onLost((error) => {
      this.#lost = error
      for (const { reject } of this.#waiting.values()) reject(error)
      this.#waiting.clear()
    })
  }

  get isLost(): boolean {
    return this.#lost !== undefined
  }

  call<Name extends CallName>(
    call: Name,
    takes: FileCalls[Name]['takes'],
    { transfer = [], onRecords }: { transfer?: ArrayBuffer[]; onRecords?: (records: Uint8Array) => void } = {},
  ): Promise<FileCalls[Name]['gives']> {
    if (this.#lost) return Promise.reject(this.#lost)
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, onRecords })
      this.#channel.post({ id, call, takes }, transfer)
    })
  }

  stop(): Promise<void> {
    return this.#channel.stop()
  }

  #receive(reply: FileReply): void {
    const waiting = this.#waiting.get(reply.id)
    if (!waiting) return
    if ('records' in reply) {
      waiting.onRecords?.(reply.records)
      return
    }
    this.#waiting.delete(reply.id)
    if ('gives' in reply) {
      waiting.resolve(reply.gives as never)
      return
    }
    const { message, problem } = reply.error
    waiting.reject(problem ? openError(problem, message) : new StoreError(message))
  }
}

/** The file in a thread of its own. */
export function threadChannel(): FileChannel {
  // The same module, whether it runs from its source or from what was built of it.
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const thread = startThread<FileRequest, FileReply>(new URL(`./file-thread.${extension}`, import.meta.url))
  let isStopping = false
  return {
    post: (request, transfer) => thread.post(request, transfer),
    onReply: (receive) => thread.onMessage(receive),
    onLost: (receive) =>
      thread.onExit((error) => {
        if (!isStopping) receive(error ?? new Error("the store's thread has ended"))
      }),
    async stop() {
      isStopping = true
      await thread.stop()
    },
  }
}

/** The file in this thread: for faults that are injected into its seams. */
export function inlineChannel(sqlite: Sqlite, files: Files): FileChannel {
  let receive: (reply: FileReply) => void = () => {}
  const server = new FileServer(sqlite, files, (reply) => receive(reply))
  let busy = Promise.resolve()
  return {
    post(request) {
      busy = busy.then(() => server.handle(request))
    },
    onReply(to) {
      receive = to
    },
    onLost() {},
    stop: () => busy,
  }
}
