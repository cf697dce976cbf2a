import type { V1DaemonSet, V1Deployment, V1StatefulSet } from '#api/apps/v1/types.gen.ts'
import type { ApiObject } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'

export type RolloutStatus = { text: string; isDone: boolean }

/** How far a rollout is, in a line. Throws where it has failed. */
export function rolloutStatus(object: ApiObject, revision: number): RolloutStatus {
  if (object.kind === 'Deployment') return ofDeployment(object as unknown as V1Deployment, revision)
  return object.kind === 'DaemonSet' ? ofDaemonSet(object as unknown as V1DaemonSet) : ofStatefulSet(object as unknown as V1StatefulSet)
}

const waiting = (text: string): RolloutStatus => ({ text: `${text}\n`, isDone: false })
const done = (text: string): RolloutStatus => ({ text: `${text}\n`, isDone: true })

function ofDeployment({ metadata, spec, status = {} }: V1Deployment, revision: number): RolloutStatus {
  const name = JSON.stringify(metadata?.name)
  const running = Number(metadata?.annotations?.['deployment.kubernetes.io/revision'] ?? 0)
  if (revision > 0 && revision !== running)
    throw new CliError(`desired revision (${revision}) is different from the running revision (${running})`)
  if ((metadata?.generation ?? 0) > (status.observedGeneration ?? 0)) return waiting('Waiting for deployment spec update to be observed...')
  if (status.conditions?.find(({ type }) => type === 'Progressing')?.reason === 'ProgressDeadlineExceeded')
    throw new CliError(`deployment ${name} exceeded its progress deadline`)
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status
  const wanted = spec?.replicas ?? 0
  const head = `Waiting for deployment ${name} rollout to finish:`
  if (updatedReplicas < wanted) return waiting(`${head} ${updatedReplicas} out of ${wanted} new replicas have been updated...`)
  if (replicas > updatedReplicas) return waiting(`${head} ${replicas - updatedReplicas} old replicas are pending termination...`)
  if (availableReplicas < updatedReplicas)
    return waiting(`${head} ${availableReplicas} of ${updatedReplicas} updated replicas are available...`)
  return done(`deployment ${name} successfully rolled out`)
}

function ofDaemonSet({ metadata, spec, status }: V1DaemonSet): RolloutStatus {
  const name = JSON.stringify(metadata?.name)
  if (spec?.updateStrategy?.type !== 'RollingUpdate') throw new CliError('rollout status is only available for RollingUpdate strategy type')
  if ((metadata?.generation ?? 0) > (status?.observedGeneration ?? 0))
    return waiting('Waiting for daemon set spec update to be observed...')
  const { updatedNumberScheduled = 0, desiredNumberScheduled = 0, numberAvailable = 0 } = status ?? {}
  const head = `Waiting for daemon set ${name} rollout to finish:`
  if (updatedNumberScheduled < desiredNumberScheduled)
    return waiting(`${head} ${updatedNumberScheduled} out of ${desiredNumberScheduled} new pods have been updated...`)
  if (numberAvailable < desiredNumberScheduled)
    return waiting(`${head} ${numberAvailable} of ${desiredNumberScheduled} updated pods are available...`)
  return done(`daemon set ${name} successfully rolled out`)
}

function ofStatefulSet({ metadata, spec, status }: V1StatefulSet): RolloutStatus {
  if (spec?.updateStrategy?.type !== 'RollingUpdate') throw new CliError('rollout status is only available for RollingUpdate strategy type')
  const observed = status?.observedGeneration ?? 0
  if (observed === 0 || (metadata?.generation ?? 0) > observed) return waiting('Waiting for statefulset spec update to be observed...')
  const { readyReplicas = 0, updatedReplicas = 0, currentReplicas = 0, updateRevision = '', currentRevision = '' } = status ?? {}
  const wanted = spec.replicas ?? 0
  if (readyReplicas < wanted) return waiting(`Waiting for ${wanted - readyReplicas} pods to be ready...`)
  if (spec.updateStrategy.rollingUpdate !== undefined) {
    const { partition } = spec.updateStrategy.rollingUpdate
    if (partition !== undefined && updatedReplicas < wanted - partition)
      return waiting(
        `Waiting for partitioned roll out to finish: ${updatedReplicas} out of ${wanted - partition} new pods have been updated...`,
      )
    return done(`partitioned roll out complete: ${updatedReplicas} new pods have been updated...`)
  }
  if (updateRevision !== currentRevision)
    return waiting(`waiting for statefulset rolling update to complete ${updatedReplicas} pods at revision ${updateRevision}...`)
  return done(`statefulset rolling update complete ${currentReplicas} pods at revision ${currentRevision}...`)
}
