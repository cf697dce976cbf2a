/** Rules for events. Upstream validates the stored form, so that messages name the fields of the core group. */

import { Event } from '#api/core/v1/kinds.gen.ts'
import type { V1Event as CoreEvent } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { byteLength, dns1123Subdomain, mustBe, nameIsDns1123Subdomain, qualifiedName } from '#api/meta/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { append } from '#base/append.ts'

const sameEvent = equalityOf(Event)

const maxShortBytes = 128
const maxMessageBytes = 1024

const modernVersion = 'events.k8s.io/v1'

/** `requestVersion` is that of the rules' context. */
export function validateEvent(check: Check<CoreEvent>, requestVersion = 'v1'): void {
  validateAnyEvent(check, requestVersion)
  if (requestVersion === modernVersion) validateModernEvent(check)
}

export function validateEventUpdate(check: Check<CoreEvent>, prev: CoreEvent, requestVersion = 'v1'): void {
  validateAnyEvent(check, requestVersion)
  if (requestVersion === modernVersion) validateModernEventUpdate(check, prev)
}

/** What events of every version must keep to. Those with an `eventTime` come from the newer API, which asks for more. */
function validateAnyEvent(check: Check<CoreEvent>, requestVersion: string): void {
  const event = check.value
  const reportingField = requestVersion === 'v1' ? 'reportingComponent' : 'reportingController'
  const { namespace = '' } = event.metadata
  const involved = event.involvedObject?.namespace ?? ''
  if (!event.eventTime) {
    const matches = involved === '' ? namespace === '' || namespace === 'default' : involved === namespace
    if (!matches) check.at('involvedObject').at('namespace').or('').invalid('does not match event.namespace')
  } else {
    // Events about objects without a namespace lie in one of these two.
    if (involved === '' && namespace !== 'default' && namespace !== 'kube-system') {
      check.at('involvedObject').at('namespace').or('').invalid('does not match event.namespace')
    }
    const { reportingComponent = '' } = event
    if (reportingComponent === '') check.dynamic(reportingField).required()
    mustBe(qualifiedName, check.dynamic(reportingField).with(reportingComponent))
    for (const field of ['reportingInstance', 'action', 'reason'] as const) {
      const value = event[field] ?? ''
      if (value === '') check.at(field).required()
      mustNotBeLonger(check.at(field).with(value), maxShortBytes)
    }
    mustNotBeLonger(check.at('message').or(''), maxMessageBytes)
  }
  mustBe(dns1123Subdomain, check.dynamic('namespace').with(namespace))
}

function mustNotBeLonger(check: Check<string>, maxBytes: number): void {
  const text = check.value
  if (byteLength(text) > maxBytes) check.invalid(`can have at most ${maxBytes} characters`, '')
}

/** What events.k8s.io/v1 asks for on top: all of the new fields, none of the old ones. */
function validateModernEvent(check: Check<CoreEvent>): void {
  const event = check.value
  validateNewMetadata(check)
  validateSeries(check)
  if (!event.eventTime) check.at('eventTime').required()
  const { type = '' } = event
  if (type !== 'Normal' && type !== 'Warning') check.at('type').invalid(`has invalid value: ${type}`, '')
  if (event.firstTimestamp) check.at('firstTimestamp').invalid('needs to be unset', '')
  if (event.lastTimestamp) check.at('lastTimestamp').invalid('needs to be unset', '')
  if (event.count) check.at('count').invalid('needs to be unset', '')
  if (event.source?.component || event.source?.host) check.at('source').invalid('needs to be unset', '')
}

/** Events of the core group may have any name; what was said about their metadata gives way to the stricter evaluation. */
function validateNewMetadata(check: Check<CoreEvent>): void {
  const others = check.errors.filter(({ field }) => !field.startsWith('metadata.'))
  check.errors.length = 0
  append(check.errors, others)
  validateObjectMeta(check.at('metadata'), { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain })
}

/** An event is history: only its series may go on. */
function validateModernEventUpdate(check: Check<CoreEvent>, prev: CoreEvent): void {
  const next = check.value
  validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
  if (!sameEvent.at('series')(next.series, prev.series)) validateSeries(check)
  mustNotChange(check.at('involvedObject'), prev.involvedObject, sameEvent.at('involvedObject'), 'core.ObjectReference')
  mustNotChange(check.at('reason').or(''), prev.reason ?? '')
  mustNotChange(check.at('message').or(''), prev.message ?? '')
  mustNotChange(check.at('source').or({}), prev.source ?? {}, sameEvent.at('source'), 'core.EventSource')
  mustNotChange(check.at('firstTimestamp'), prev.firstTimestamp)
  mustNotChange(check.at('lastTimestamp'), prev.lastTimestamp)
  mustNotChange(check.at('count').or(0), prev.count ?? 0)
  // Upstream looks at the reason twice, and reports it twice.
  mustNotChange(check.at('reason').or(''), prev.reason ?? '')
  mustNotChange(check.at('type').or(''), prev.type ?? '')
  mustNotChange(check.at('eventTime'), prev.eventTime)
  mustNotChange(check.at('action').or(''), prev.action ?? '')
  mustNotChange(check.at('related'), prev.related, sameEvent.at('related'), '*core.ObjectReference')
  mustNotChange(check.dynamic('reportingController').with(next.reportingComponent ?? ''), prev.reportingComponent ?? '')
  mustNotChange(check.at('reportingInstance').or(''), prev.reportingInstance ?? '')
}

function validateSeries(check: Check<CoreEvent>): void {
  const { series } = check.value
  if (!series) return
  if ((series.count ?? 0) < 2) check.at('series').at('count').invalid('should be at least 2', '')
  if (!series.lastObservedTime) check.at('series').at('lastObservedTime').required()
}
