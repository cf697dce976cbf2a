/** Comma-separated records with quoted fields, as Go's encoding/csv takes them: no comments, empty lines skipped. */
export function parseCsv(text: string): string[][] {
  const records: string[][] = []
  let record: string[] = []
  let line = 1
  let position = 0
  const finish = () => {
    if (record.length > 1 || record[0] !== '') records.push(record)
    record = []
  }
  while (position < text.length) {
    let field = ''
    if (text[position] === '"') {
      position++
      for (;;) {
        const quote = text.indexOf('"', position)
        if (quote < 0) throw new Error(`parse error on line ${line}: extraneous or missing " in quoted-field`)
        field += text.slice(position, quote)
        position = quote + 1
        if (text[position] !== '"') break
        field += '"'
        position++
      }
    } else {
      const match = /^[^,\r\n]*/.exec(text.slice(position))
      field = match?.[0] ?? ''
      if (field.includes('"')) throw new Error(`parse error on line ${line}: bare " in non-quoted-field`)
      position += field.length
    }
    record.push(field)
    if (text[position] === ',') {
      position++
      if (position === text.length) record.push('')
      continue
    }
    if (text.startsWith('\r\n', position)) position++
    if (position < text.length && text[position] !== '\n')
      throw new Error(`parse error on line ${line}: extraneous or missing " in quoted-field`)
    position++
    line++
    finish()
  }
  if (record.length > 0) finish()
  return records
}
