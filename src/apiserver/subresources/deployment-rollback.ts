/** The way back of old clients: they name a revision, the controller of deployments does the rest. */
import { rollbackAnnotation } from '#api/apps/v1beta1/convert-rollback.ts'
import type { V1beta1DeploymentRollback } from '#api/apps/v1beta1/types.gen.ts'
import { setAnnotation } from '#api/meta/annotations.ts'
import { Check } from '#api/meta/check.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { validateAnnotations } from '#api/meta/labels.ts'
import { badRequest, invalid } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { decodeBody } from '#apiserver/http/decode-body.ts'
import { statusSchema } from '#apiserver/http/handler.ts'
import { writeOptions } from '#apiserver/http/query-options.ts'
import { serverCouldNotFind } from '#apiserver/http/refusals.ts'
import type { EndpointServices } from '#apiserver/http/resource-endpoints.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'
import { bodyOptions, readWritten, writeContext } from '#apiserver/http/write-verbs.ts'
import { respondValue } from '#apiserver/subresources/respond-value.ts'

export async function rollBack(context: RequestContext, resource: ServedResource, services: EndpointServices): Promise<void> {
  const kind = resource.definition.actions?.['rollback']
  if (kind === undefined) throw serverCouldNotFind()
  const options = writeOptions('CreateOptions', context.query)
  const body = await readWritten(context, services)
  const decoding = { ...bodyOptions(context), fieldValidation: options.fieldValidation }
  const rollback = decodeBody<V1beta1DeploymentRollback>(body, kind, decoding)
  const { name } = context.info
  validate(rollback)
  if (rollback.name !== name) throw badRequest('name in URL does not match name in DeploymentRollback object')
  await resource.registry.update(name, writeContext(context, resource, options, 'CreateOptions'), {
    retriesConflicts: true,
    transform(prev) {
      const next: KubernetesObject = deepCopy(prev ?? {})
      next.metadata ??= {}
      next.metadata.annotations = { ...next.metadata.annotations, ...rollback.updatedAnnotations }
      setAnnotation(next.metadata, rollbackAnnotation, String(rollback.rollbackTo?.revision ?? 0))
      return next
    },
  })
  const message = `rollback request for deployment ${JSON.stringify(name)} succeeded`
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', message, code: 200 }
  respondValue(context, status, statusSchema, 200)
}

function validate(rollback: V1beta1DeploymentRollback): void {
  const { name } = rollback
  const check = new Check(rollback)
  validateAnnotations(check.at('updatedAnnotations'))
  if (!name) check.at('name').required('name is required')
  if (check.failed) throw invalid({ group: 'apps', kind: 'DeploymentRollback' }, name ?? '', check.errors)
}
