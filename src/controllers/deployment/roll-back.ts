import { Deployment } from '#api/apps/v1/kinds.gen.ts'
import {
  annotationsAfterRollback,
  hashLabel,
  int64,
  isSameTemplate,
  lastRevision,
  revisionOf,
  rollbackAnnotation,
} from '#controllers/deployment/revisions.ts'
import type { Rollout } from '#controllers/deployment/rollout.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'

/** What clients of old API versions ask for by an annotation: the template of an earlier revision. */
export async function rollBack(rollout: Rollout, { client, events }: ReconcileContext): Promise<void> {
  await rollout.syncNewSet({ creates: true })
  const { deployment, all } = rollout
  const { spec, metadata } = deployment
  if (spec === undefined) return
  const asked = int64(metadata.annotations?.[rollbackAnnotation] ?? '') ?? 0n
  const { [rollbackAnnotation]: _done, ...annotations } = metadata.annotations ?? {}
  const giveUp = async (reason: string, message: string) => {
    events.warning(Deployment, deployment, reason, message)
    await client.update(Deployment, { ...deployment, metadata: { ...metadata, annotations } })
  }
  const revision = asked === 0n ? lastRevision(all) : asked
  if (revision === 0n) return giveUp('DeploymentRollbackRevisionNotFound', 'Unable to find last revision.')
  const target = all.find((set) => revisionOf(set) === revision)
  const template = target?.spec?.template
  if (target === undefined || template === undefined)
    return giveUp('DeploymentRollbackRevisionNotFound', 'Unable to find the revision to rollback to.')
  if (isSameTemplate(template, spec.template)) {
    const message = `The rollback revision contains the same template as current deployment "${metadata.name}"`
    return giveUp('DeploymentRollbackTemplateUnchanged', message)
  }
  const { [hashLabel]: _hash, ...labels } = template.metadata?.labels ?? {}
  await client.update(Deployment, {
    ...deployment,
    metadata: { ...metadata, annotations: annotationsAfterRollback(deployment, target) },
    spec: { ...spec, template: { ...template, metadata: { ...template.metadata, labels } } },
  })
  events.normal(Deployment, deployment, 'DeploymentRollback', `Rolled back deployment "${metadata.name}" to revision ${revision}`)
}
