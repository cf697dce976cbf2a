/** What Docker tells of its containers, for as long as it is there, and again when it is back. */
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { Logger } from '#base/log.ts'
import type { DockerClient } from '#runtime/docker/docker-client.ts'
import { dockerLabel } from '#runtime/docker/docker-names.ts'
import type { DockerEvent } from '#runtime/docker/docker-types.ts'

export type DockerEventsOptions = {
  docker: DockerClient
  owner: string
  clock: Clock
  logger: Logger
  onEvent(event: DockerEvent): void
  /** Docker is gone, and what happens meanwhile is not told. */
  onLost(error: GrpcError): void
  /** It answers again, or for the first time. */
  onConnected(): void
}

const retryMs = { first: 100, most: 2000 }
const longestEventBytes = 1 << 20

export class DockerEvents {
  readonly #options: DockerEventsOptions
  readonly #over = new AbortController()
  readonly #done: Promise<void>

  constructor(options: DockerEventsOptions) {
    this.#options = options
    this.#done = this.#run()
  }

  async stop(): Promise<void> {
    this.#over.abort()
    await this.#done
  }

  async #run(): Promise<void> {
    const { docker, owner, clock, logger, onEvent, onLost, onConnected } = this.#options
    let delayMs = retryMs.first
    const filters = JSON.stringify({ type: ['container'], label: [`${dockerLabel.owner}=${owner}`] })
    while (!this.#over.signal.aborted) {
      let failure: unknown
      try {
        const body = await docker.stream('GET', '/events', { query: { filters }, signal: this.#over.signal })
        delayMs = retryMs.first
        onConnected()
        for await (const event of eventsIn(body)) onEvent(event)
      } catch (error) {
        failure = error
      }
      if (this.#over.signal.aborted) return
      logger.debug('lost the events of Docker', { error: errorMessage(failure ?? 'the stream has ended') })
      onLost(new GrpcError(grpcCodes.unavailable, `Docker is away: ${errorMessage(failure ?? 'its events have ended')}`))
      await clock.sleep(delayMs, this.#over.signal).catch(() => {})
      delayMs = Math.min(retryMs.most, delayMs * 2)
    }
  }
}

/** One JSON object a line. */
export async function* eventsIn(body: AsyncIterable<Uint8Array>): AsyncGenerator<DockerEvent> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true })
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > longestEventBytes) throw new Error('Docker sent an event without end')
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as DockerEvent
  }
}
