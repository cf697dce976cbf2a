/** A request as the expressions of policies see it. */

import { type AdmissionInput, admissionInput } from '#api/cel/admission-input.ts'
import type { AccessAnswer, AccessQuestion } from '#api/cel/library/authorizer.ts'
import { Pending } from '#api/cel/library/authorizer.ts'
import { Namespace } from '#api/core/v1/kinds.gen.ts'
import { parseFieldSelector } from '#api/meta/field-selector.ts'
import { parseLabelSelector } from '#api/meta/selector.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { AdmissionRequest } from '#apiserver/admission/admission.ts'
import type { Attributes, AuthorizationResult, Authorizer } from '#apiserver/authz/authorizer.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'

export type PolicyInputOptions = {
  request: AdmissionRequest
  resource: AdmissionRequest['resource']
  params: KubernetesObject | undefined
  cluster: ClusterView
  ask: (question: AccessQuestion) => AccessAnswer
}

export function policyInput({ request, resource, params, cluster, ask }: PolicyInputOptions): AdmissionInput {
  const { definition, namespace, user } = request
  const isNamespace = definition.group === '' && definition.plural === 'namespaces'
  const isAsked = resource.group === request.resource.group && resource.version === request.resource.version
  const written = isAsked ? request.kind : { group: resource.group, version: resource.version, kind: request.kind.kind }
  return admissionInput({
    object: request.object,
    oldObject: request.oldObject,
    params,
    namespaceObject: namespace === '' || isNamespace ? undefined : cluster.get(Namespace, namespace),
    request: {
      kind: written,
      resource,
      ...(request.subresource === '' ? {} : { subResource: request.subresource, requestSubResource: request.subresource }),
      requestKind: request.kind,
      requestResource: request.resource,
      ...omitEmpty({ name: request.name, namespace }),
      operation: request.operation,
      userInfo: {
        ...omitEmpty({ username: user.name, uid: user.uid, groups: user.groups, extra: user.extra }),
      },
      dryRun: request.isDryRun,
      options: request.options,
    },
    ask,
    asked: { group: resource.group, resource: resource.resource, subresource: request.subresource, namespace, name: request.name },
  })
}

/** Asks about the user of the request, each question once. */
export function askingFor({ user }: AdmissionRequest, authorizer: Authorizer): (question: AccessQuestion) => AccessAnswer {
  const known = new Map<string, AuthorizationResult>()
  return (question) => {
    const key = JSON.stringify(question)
    const found = known.get(key)
    if (found !== undefined) return answerOf(found)
    const result = authorizer.authorize(attributesOf(question, user))
    if (result instanceof Promise) throw new Pending(result.then((answer) => known.set(key, answer)))
    known.set(key, result)
    return answerOf(result)
  }
}

const answerOf = ({ decision, reason, error }: AuthorizationResult): AccessAnswer => ({
  isAllowed: decision === 'allow',
  reason,
  ...defined({ error }),
})

function attributesOf(question: AccessQuestion, asker: AdmissionRequest['user']): Attributes {
  const { serviceAccount: account, path } = question
  const user =
    account === undefined
      ? asker
      : {
          name: `system:serviceaccount:${account.namespace}:${account.name}`,
          groups: ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`],
          extra: {},
        }
  return {
    user,
    verb: question.verb,
    namespace: question.namespace ?? '',
    group: question.group ?? '',
    version: path === undefined ? '*' : '',
    resource: question.resource ?? '',
    subresource: question.subresource ?? '',
    name: question.name ?? '',
    path: path ?? '',
    isResourceRequest: path === undefined,
    fieldSelector: understood(question.fieldSelector, (text) => parseFieldSelector(text).terms),
    labelSelector: understood(question.labelSelector, (text) => parseLabelSelector(text).requirements),
  }
}

/** A selector that makes no sense is left out: that asks for more, never for less. */
function understood<T>(text: string | undefined, parse: (text: string) => T): T | undefined {
  if (!text) return undefined
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

/** Runs again whenever what it waited for is there. */
export async function whenAnswered<T>(work: () => T): Promise<T> {
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof Pending)) throw error
      await error.until
    }
  }
}
