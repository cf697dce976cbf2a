/** `spec.rollbackTo` asked to go back to a revision. It left the API, and lives on as an annotation. */
import type { V1Deployment } from '#api/apps/v1/types.gen.ts'
import type { V1beta1Deployment } from '#api/apps/v1beta1/types.gen.ts'
import { setAnnotation, takeInteger } from '#api/meta/annotations.ts'

export const rollbackAnnotation = 'deprecated.deployment.rollback.to'

export function rollbackToAnnotation(deployment: V1beta1Deployment): V1Deployment {
  deployment.metadata ??= {}
  const { rollbackTo, ...spec } = deployment.spec ?? {}
  setAnnotation(deployment.metadata, rollbackAnnotation, rollbackTo && String(rollbackTo.revision ?? 0))
  return { ...deployment, spec } as V1Deployment
}

export function rollbackFromAnnotation(deployment: V1Deployment): V1beta1Deployment {
  const revision = takeInteger(deployment.metadata, rollbackAnnotation)
  const { spec } = deployment
  return (revision === undefined ? deployment : { ...deployment, spec: { ...spec, rollbackTo: { revision } } }) as V1beta1Deployment
}
