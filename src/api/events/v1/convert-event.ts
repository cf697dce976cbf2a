/** Events between this group and the core group, where they are stored: the same facts under other names. */
import type { V1Event as CoreEvent } from '#api/core/v1/types.gen.ts'
import type { V1Event } from '#api/events/v1/types.gen.ts'

export function toCoreEvent(event: V1Event): CoreEvent {
  const {
    regarding,
    note,
    reportingController,
    deprecatedSource,
    deprecatedFirstTimestamp,
    deprecatedLastTimestamp,
    deprecatedCount,
    ...shared
  } = event
  const converted = { ...shared, apiVersion: 'v1', involvedObject: regarding ?? {} } as CoreEvent
  if (note !== undefined) converted.message = note
  if (reportingController !== undefined) converted.reportingComponent = reportingController
  if (deprecatedSource !== undefined) converted.source = deprecatedSource
  if (deprecatedFirstTimestamp !== undefined) converted.firstTimestamp = deprecatedFirstTimestamp
  if (deprecatedLastTimestamp !== undefined) converted.lastTimestamp = deprecatedLastTimestamp
  if (deprecatedCount !== undefined) converted.count = deprecatedCount
  return converted
}

export function fromCoreEvent(event: CoreEvent): V1Event {
  const { involvedObject, message, reportingComponent, source, firstTimestamp, lastTimestamp, count, ...shared } = event
  const converted = { ...shared, apiVersion: 'events.k8s.io/v1', regarding: involvedObject } as V1Event
  if (message !== undefined) converted.note = message
  if (reportingComponent !== undefined) converted.reportingController = reportingComponent
  if (source !== undefined) converted.deprecatedSource = source
  if (firstTimestamp !== undefined) converted.deprecatedFirstTimestamp = firstTimestamp
  if (lastTimestamp !== undefined) converted.deprecatedLastTimestamp = lastTimestamp
  if (count !== undefined) converted.deprecatedCount = count
  return converted
}
