import type { Status } from '#scheduler/framework/status.ts'

/** Why no node took the pod. */
export class Diagnosis {
  /** The nodes that were looked at and turned down. */
  readonly nodeStatuses = new Map<string, Status>()
  /** What holds for all nodes that were not looked at. */
  absentStatus: Status | undefined
  readonly plugins = new Set<string>()
  readonly pendingPlugins = new Set<string>()
  preFilterMessage = ''
  postFilterMessage = ''

  note(status: Status): void {
    if (status.plugin === '') return
    if (status.code === 'Pending') this.pendingPlugins.add(status.plugin)
    else if (status.code !== 'Wait') this.plugins.add(status.plugin)
  }

  statusOf(nodeName: string): Status | undefined {
    return this.nodeStatuses.get(nodeName) ?? this.absentStatus
  }
}

export class FitError extends Error {
  readonly nodeCount: number
  readonly diagnosis: Diagnosis

  constructor(nodeCount: number, diagnosis: Diagnosis) {
    super()
    this.nodeCount = nodeCount
    this.diagnosis = diagnosis
  }

  override get message(): string {
    return fitMessage(this.nodeCount, this.diagnosis)
  }
}

/** `0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. preemption: …` */
export function fitMessage(nodeCount: number, diagnosis: Diagnosis): string {
  let message = `0/${nodeCount} nodes are available:`
  if (diagnosis.preFilterMessage !== '') message += ` ${diagnosis.preFilterMessage}.`
  else {
    const reasons = reasonCounts(nodeCount, diagnosis)
    if (reasons.length > 0) message += ` ${reasons.join(', ')}.`
  }
  if (diagnosis.postFilterMessage !== '') message += ` ${diagnosis.postFilterMessage}`
  return message
}

function reasonCounts(nodeCount: number, { nodeStatuses, absentStatus }: Diagnosis): string[] {
  const counts = new Map<string, number>()
  const count = (status: Status, by: number) => {
    for (const reason of status.reasons) counts.set(reason, (counts.get(reason) ?? 0) + by)
  }
  for (const status of nodeStatuses.values()) count(status, 1)
  if (absentStatus !== undefined && nodeStatuses.size < nodeCount) count(absentStatus, nodeCount - nodeStatuses.size)
  return [...counts].map(([reason, times]) => `${times} ${reason}`).sort()
}

export const noNodesMessage = 'no nodes available to schedule pods'
