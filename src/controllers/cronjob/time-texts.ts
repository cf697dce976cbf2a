/** Times as events and annotations show them. */

/** `Mon, 02 Jan 2006 15:04:05 +0000` */
export function rfc1123(ms: number): string {
  return new Date(ms).toUTCString().replace('GMT', '+0000')
}

/** RFC 3339 in the zone: `2026-01-02T09:00:00+01:00`. */
export function zonedTime(ms: number, zone = 'UTC'): string {
  const offset = offsetMinutes(ms, zone)
  const local = new Date(ms + offset * 60_000).toISOString().slice(0, 19)
  if (offset === 0) return `${local}Z`
  const absolute = Math.abs(offset)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${local}${offset < 0 ? '-' : '+'}${two(Math.floor(absolute / 60))}:${two(absolute % 60)}`
}

function offsetMinutes(ms: number, zone: string): number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
  const name = format.formatToParts(new Date(ms)).find(({ type }) => type === 'timeZoneName')?.value ?? 'GMT'
  const match = /GMT([+-])(\d\d):(\d\d)/.exec(name)
  if (match === null) return 0
  return (match[1] === '-' ? -1 : 1) * (Number(match[2]) * 60 + Number(match[3]))
}
