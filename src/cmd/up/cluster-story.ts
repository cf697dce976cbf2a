/** What happens to a cluster, for its log: nodes, leaders, images, evictions and trouble with pods, in a handful of lines a minute. */
import { Event } from '#api/core/v1/kinds.gen.ts'
import type { V1Event } from '#api/core/v1/types.gen.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { LogFields, Logger } from '#base/log.ts'

/** Of each sentence one line is written a minute, and one at its end that says how many more there were. */
const windowMs = 60_000

type Chapter = { sentence: string; isLogged?(event: V1Event): boolean; fields(event: V1Event): LogFields }

const aboutNode = (sentence: string): Chapter => ({ sentence, fields: ({ involvedObject }) => ({ node: involvedObject.name }) })
const aboutObject = (sentence: string): Chapter => ({
  sentence,
  fields: ({ involvedObject, message, reason }) => ({
    [(involvedObject.kind ?? 'object').toLowerCase()]: nameOf(involvedObject),
    reason,
    message: (message ?? '').split('\n')[0]?.slice(0, 200),
  }),
})

/** By the reasons of events. */
const chapters: Readonly<Record<string, Chapter>> = {
  RegisteredNode: aboutNode('node registered'),
  NodeReady: aboutNode('node is ready'),
  NodeNotReady: aboutNode('node is not ready'),
  RemovingNode: aboutNode('node left'),
  Rebooted: aboutNode('node was rebooted'),
  LeaderElection: aboutObject('leader changed'),
  Pulled: {
    sentence: 'image pulled',
    isLogged: ({ message }) => message?.startsWith('Successfully pulled') ?? false,
    fields: ({ involvedObject, message }) => ({ image: /"([^"]+)"/.exec(message ?? '')?.[1], pod: nameOf(involvedObject) }),
  },
  Evicted: aboutObject('pod evicted'),
  TaintManagerEviction: aboutObject('pod evicted'),
  Preempted: aboutObject('pod preempted'),
  ScalingReplicaSet: aboutObject('deployment scaled'),
  SuccessfulRescale: aboutObject('autoscaler scaled'),
  FailedScheduling: aboutObject('pod cannot be scheduled'),
  FailedMount: aboutObject('pod waits for a volume'),
  FailedAttachVolume: aboutObject('pod waits for a volume'),
  FailedCreatePodSandBox: aboutObject('pod failed to start'),
  Failed: aboutObject('pod failed to start'),
  BackOff: aboutObject('pod keeps failing'),
  OOMKilling: aboutObject('out of memory'),
  SystemOOM: aboutObject('out of memory'),
}

const nameOf = ({ namespace, name }: V1Event['involvedObject']): string => (namespace ? `${namespace}/${name}` : (name ?? ''))

export type StoryOptions = { cluster: ClusterView; clock: Clock; logger: Logger }

/** Tells it until it is disposed of. What happened before is not told again. */
export function tellStory({ cluster, clock, logger }: StoryOptions): Disposable {
  const fromMs = clock.now()
  const teller = new Teller(clock, logger)
  const following = cluster.onChange(
    Event,
    (event, isDeleted) => {
      const chapter = chapters[event.reason ?? '']
      if (chapter === undefined || isDeleted || (event.count ?? 1) > 1 || chapter.isLogged?.(event) === false) return
      // A second is all that times of events tell.
      const madeMs = Date.parse(event.metadata.creationTimestamp ?? '')
      if (madeMs >= fromMs - 1000) teller.tell(chapter.sentence, chapter.fields(event))
    },
    true,
  )
  return {
    [Symbol.dispose]() {
      following[Symbol.dispose]()
      teller[Symbol.dispose]()
    },
  }
}

class Teller implements Disposable {
  readonly #clock: Clock
  readonly #logger: Logger
  /** By sentence: how many were left out since its line. */
  readonly #more = new Map<string, number>()
  #end: Timer | undefined

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock
    this.#logger = logger
  }

  tell(sentence: string, fields: LogFields): void {
    const more = this.#more.get(sentence)
    this.#more.set(sentence, more === undefined ? 0 : more + 1)
    if (more === undefined) this.#logger.info(sentence, fields)
    this.#end ??= this.#clock.after(windowMs, () => this.#summarize())
  }

  #summarize(): void {
    this.#end = undefined
    for (const [sentence, more] of this.#more) if (more > 0) this.#logger.info(sentence, { more, inSeconds: windowMs / 1000 })
    this.#more.clear()
  }

  [Symbol.dispose](): void {
    this.#end?.cancel()
  }
}
