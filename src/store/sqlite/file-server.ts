import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import type { Sqlite } from '#base/sqlite.ts'
import { openProblemOf } from '#store/sqlite/file-errors.ts'
import { CommitError, StoreFile } from '#store/sqlite/store-file.ts'
import type { Batch, BatchMark, FileCalls, FileReply, FileRequest, Place } from '#store/sqlite/thread-protocol.ts'

type Reply = (reply: FileReply, transfer?: ArrayBuffer[]) => void

/** Answers the calls of the serving thread, one after the other. */
export class FileServer {
  readonly #sqlite: Sqlite
  readonly #files: Files
  readonly #reply: Reply
  #file: StoreFile | undefined

  constructor(sqlite: Sqlite, files: Files, reply: Reply) {
    this.#sqlite = sqlite
    this.#files = files
    this.#reply = reply
  }

  async handle(request: FileRequest): Promise<void> {
    const { id } = request
    try {
      this.#reply({ id, gives: await this.#answer(request) })
    } catch (error) {
      const message = errorMessage(error)
      this.#reply({ id, error: { message, problem: openProblemOf(error) } })
    }
  }

  async #answer({ id, call, takes }: FileRequest): Promise<FileCalls[keyof FileCalls]['gives']> {
    switch (call) {
      case 'open':
        this.#file = await StoreFile.open(this.#sqlite, this.#files, takes as Place)
        return this.#file.summary()
      case 'load':
        return this.#open().load((records) => this.#reply({ id, records }, [records.buffer]))
      case 'commit':
        return this.#commit(takes as Batch)
      case 'recover':
        return this.#recover(takes as FileCalls['recover']['takes'])
      case 'tidy':
        return this.#open().tidy()
      case 'vacuum':
        return this.#open().vacuum() ?? undefined
      case 'size':
        return this.#open().size()
      case 'close':
        this.#file?.close()
        this.#file = undefined
        return undefined
    }
  }

  #commit(batch: Batch): FileCalls['commit']['gives'] {
    try {
      this.#open().commit(batch)
      return {}
    } catch (error) {
      if (error instanceof CommitError) return { failure: { message: error.message, outcome: error.outcome } }
      throw error
    }
  }

  async #recover({ uncertain, ...place }: Place & { uncertain: BatchMark | undefined }): Promise<FileCalls['recover']['gives']> {
    // A thread that was started to replace one that died has not opened anything yet.
    this.#file ??= await StoreFile.open(this.#sqlite, this.#files, place)
    return { outcome: this.#file.recover(uncertain) }
  }

  #open(): StoreFile {
    if (!this.#file) throw new Error('the store is not open')
    return this.#file
  }
}
