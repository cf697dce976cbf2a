/** Keeps flow control in step with its objects, and tells in the status of each FlowSchema whether its level exists. */

import { FlowSchema, PriorityLevelConfiguration } from '#api/flowcontrol/v1/kinds.gen.ts'
import type { V1FlowSchema } from '#api/flowcontrol/v1/types.gen.ts'
import { findCondition, isSameCondition } from '#api/meta/find-condition.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { InProcessRequest, InProcessResponse } from '#apiserver/http/in-process-exchange.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { FlowControl } from './flow-control.ts'

const group = 'flowcontrol.apiserver.k8s.io'
const fieldManager = 'api-priority-and-fairness-config-consumer-v1'
/** Objects come in bunches; their statuses can wait for all of them. */
const settleMs = 100

export type FlowObjectsOptions = {
  cluster: Pick<ClusterView, 'list' | 'onChange'>
  flowControl: FlowControl
  clock: Clock
  logger: Logger
  /** Sends a request to this server as itself. */
  send(request: InProcessRequest): Promise<InProcessResponse>
}

/** Until it is disposed of. The objects there are now have taken effect when it returns. */
export function followFlowObjects({ cluster, flowControl, clock, logger, send }: FlowObjectsOptions): Disposable {
  let isChanged = false
  let isOver = false
  let isReporting = false
  const schemas = () => cluster.list(FlowSchema)
  const levels = () => cluster.list(PriorityLevelConfiguration)

  const changed = () => {
    if (isChanged || isOver) return
    isChanged = true
    clock.soon(() => {
      isChanged = false
      if (isOver) return
      flowControl.configure(schemas(), levels())
      if (!isReporting) void report()
    })
  }
  const report = async () => {
    isReporting = true
    await clock.sleep(settleMs)
    isReporting = false
    const known = new Set(levels().map(({ metadata }) => metadata?.name))
    for (const schema of schemas()) {
      const level = schema.spec?.priorityLevelConfiguration.name ?? ''
      const condition = danglingCondition(level, known.has(level), clock.now())
      if (isOver || says(schema, condition)) continue
      await write(schema.metadata?.name ?? '', condition)
    }
  }
  const write = async (name: string, condition: DanglingCondition) => {
    const body = JSON.stringify({ apiVersion: `${group}/v1`, kind: 'FlowSchema', metadata: { name }, status: { conditions: [condition] } })
    const target = `/apis/${group}/v1/flowschemas/${name}/status?fieldManager=${fieldManager}&force=true`
    const headers = { 'content-type': 'application/apply-patch+yaml' }
    const { status } = await send({ method: 'PATCH', target, headers, body })
    // Not found is as good as done; anything else is tried again with the next change.
    if (status >= 300 && status !== 404) logger.warn('failed to update FlowSchema status', { name, status })
  }
  const following = [cluster.onChange(FlowSchema, changed), cluster.onChange(PriorityLevelConfiguration, changed)]
  flowControl.configure(schemas(), levels())
  return {
    [Symbol.dispose]() {
      isOver = true
      for (const each of following) each[Symbol.dispose]()
    },
  }
}

type DanglingCondition = { type: 'Dangling'; status: string; lastTransitionTime: string; reason: string; message: string }

function danglingCondition(level: string, exists: boolean, nowMs: number): DanglingCondition {
  const reference = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)}`
  return {
    type: 'Dangling',
    status: exists ? 'False' : 'True',
    lastTransitionTime: `${new Date(nowMs).toISOString().slice(0, 19)}Z`,
    reason: exists ? 'Found' : 'NotFound',
    message: exists ? `${reference} and it exists` : `${reference} but there is no such object`,
  }
}

function says({ status }: V1FlowSchema, wanted: DanglingCondition): boolean {
  return isSameCondition(findCondition(status?.conditions, wanted.type), wanted)
}
