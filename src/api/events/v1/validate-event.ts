/** Rules for events. Upstream judges the stored form, so that messages name the fields of the core group. */
import type { V1Event as CoreEvent } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { semanticEqual } from '#api/meta/equality.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { byteLength, dns1123Subdomain, mustBe, nameIsDns1123Subdomain, qualifiedName } from '#api/meta/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'

const maxShortBytes = 128
const maxMessageBytes = 1024

const modernVersion = 'events.k8s.io/v1'

/** `requestVersion` is that of the rules' context. */
export function validateEvent(event: CoreEvent, check: Check, requestVersion = 'v1'): void {
  validateAnyEvent(event, check, requestVersion)
  if (requestVersion === modernVersion) validateModernEvent(event, check)
}

export function validateEventUpdate(next: CoreEvent, prev: CoreEvent, check: Check, requestVersion = 'v1'): void {
  validateAnyEvent(next, check, requestVersion)
  if (requestVersion === modernVersion) validateModernEventUpdate(next, prev, check)
}

/** What events of every version must keep to. Those with an `eventTime` come from the newer API, which asks for more. */
function validateAnyEvent(event: CoreEvent, check: Check, requestVersion: string): void {
  const reportingField = requestVersion === 'v1' ? 'reportingComponent' : 'reportingController'
  const { namespace = '' } = event.metadata
  const involved = event.involvedObject?.namespace ?? ''
  if (!event.eventTime) {
    const matches = involved === '' ? namespace === '' || namespace === 'default' : involved === namespace
    if (!matches) check.at('involvedObject.namespace').invalid(involved, 'does not match event.namespace')
  } else {
    // Events about objects without a namespace lie in one of these two.
    if (involved === '' && namespace !== 'default' && namespace !== 'kube-system') {
      check.at('involvedObject.namespace').invalid(involved, 'does not match event.namespace')
    }
    const { reportingComponent = '' } = event
    if (reportingComponent === '') check.at(reportingField).required()
    mustBe(qualifiedName, reportingComponent, check.at(reportingField))
    for (const field of ['reportingInstance', 'action', 'reason'] as const) {
      const value = event[field] ?? ''
      if (value === '') check.at(field).required()
      mustNotBeLonger(value, maxShortBytes, check.at(field))
    }
    mustNotBeLonger(event.message ?? '', maxMessageBytes, check.at('message'))
  }
  mustBe(dns1123Subdomain, namespace, check.at('namespace'))
}

function mustNotBeLonger(text: string, maxBytes: number, check: Check): void {
  if (byteLength(text) > maxBytes) check.invalid('', `can have at most ${maxBytes} characters`)
}

/** What events.k8s.io/v1 asks for on top: all of the new fields, none of the old ones. */
function validateModernEvent(event: CoreEvent, check: Check): void {
  validateNewMetadata(event, check)
  validateSeries(event, check)
  if (!event.eventTime) check.at('eventTime').required()
  const { type = '' } = event
  if (type !== 'Normal' && type !== 'Warning') check.at('type').invalid('', `has invalid value: ${type}`)
  if (event.firstTimestamp) check.at('firstTimestamp').invalid('', 'needs to be unset')
  if (event.lastTimestamp) check.at('lastTimestamp').invalid('', 'needs to be unset')
  if (event.count) check.at('count').invalid('', 'needs to be unset')
  if (event.source?.component || event.source?.host) check.at('source').invalid('', 'needs to be unset')
}

/** Events of the core group may have any name; what was said about their metadata gives way to the stricter judgement. */
function validateNewMetadata({ metadata }: CoreEvent, check: Check): void {
  const others = check.errors.filter(({ field }) => !field.startsWith('metadata.'))
  check.errors.splice(0, check.errors.length, ...others)
  validateObjectMeta(metadata, { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain }, check.at('metadata'))
}

/** An event is history: only its series may go on. */
function validateModernEventUpdate(next: CoreEvent, prev: CoreEvent, check: Check): void {
  validateObjectMetaUpdate(next.metadata, prev.metadata, check.at('metadata'))
  if (!semanticEqual(next.series, prev.series)) validateSeries(next, check)
  mustNotChange(next.involvedObject, prev.involvedObject, check.at('involvedObject'), 'core.ObjectReference')
  mustNotChange(next.reason ?? '', prev.reason ?? '', check.at('reason'))
  mustNotChange(next.message ?? '', prev.message ?? '', check.at('message'))
  mustNotChange(next.source ?? {}, prev.source ?? {}, check.at('source'), 'core.EventSource')
  mustNotChange(next.firstTimestamp, prev.firstTimestamp, check.at('firstTimestamp'))
  mustNotChange(next.lastTimestamp, prev.lastTimestamp, check.at('lastTimestamp'))
  mustNotChange(next.count ?? 0, prev.count ?? 0, check.at('count'))
  // Upstream looks at the reason twice, and reports it twice.
  mustNotChange(next.reason ?? '', prev.reason ?? '', check.at('reason'))
  mustNotChange(next.type ?? '', prev.type ?? '', check.at('type'))
  mustNotChange(next.eventTime, prev.eventTime, check.at('eventTime'))
  mustNotChange(next.action ?? '', prev.action ?? '', check.at('action'))
  mustNotChange(next.related, prev.related, check.at('related'), '*core.ObjectReference')
  mustNotChange(next.reportingComponent ?? '', prev.reportingComponent ?? '', check.at('reportingController'))
  mustNotChange(next.reportingInstance ?? '', prev.reportingInstance ?? '', check.at('reportingInstance'))
}

function validateSeries({ series }: CoreEvent, check: Check): void {
  if (!series) return
  if ((series.count ?? 0) < 2) check.at('series.count').invalid('', 'should be at least 2')
  if (!series.lastObservedTime) check.at('series.lastObservedTime').required()
}
