import type { ShutdownNotice } from '#kubelet/shutdown/node-shutdown.ts'

/** Shutdowns of a machine without systemd: whoever runs it ends all programs with SIGTERM, the kubelet among them, and waits. */
export class SignalledShutdown implements ShutdownNotice {
  #onChange: ((isShuttingDown: boolean) => void) | undefined
  readonly #released = Promise.withResolvers<void>()

  async follow(onChange: (isShuttingDown: boolean) => void): Promise<void> {
    this.#onChange = onChange
  }

  release(): void {
    this.#released.resolve()
  }

  /** The signal has come. Resolves when the pods have ended, or their time is over. */
  async shutDown(): Promise<void> {
    if (this.#onChange === undefined) return
    this.#onChange(true)
    await this.#released.promise
  }
}
