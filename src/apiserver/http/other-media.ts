/** Descriptions of fields. */
export function describe(_type: string, _field: string): string {
  return ''
}
