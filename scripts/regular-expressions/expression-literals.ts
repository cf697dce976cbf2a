export type ExpressionLiteral = { line: number; source: string; flags: string }

/** Words after which a slash begins an expression; after any other, and after what closes something, it divides. */
const beforeExpression = new Set(['return', 'typeof', 'case', 'in', 'of', 'await', 'yield', 'void', 'throw', 'else'])

const token = {
  blank: /\s+|\/\/.*|\/\*[\s\S]*?\*\//y,
  text: /'(?:\\[\s\S]|[^'\\])*'|"(?:\\[\s\S]|[^"\\])*"/y,
  // Up to its end, or to where code begins in it.
  template: /(?:\\[\s\S]|[^\\`$]|\$(?!\{))*(`|\$\{)/y,
  word: /[\w$#\u0080-\uffff]+/y,
  expression: /\/((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+)\/([a-z]*)/y,
}

/** The expressions that a file of TypeScript writes down, in order. */
export function expressionLiterals(code: string): ExpressionLiteral[] {
  const found: ExpressionLiteral[] = []
  // What closes a brace: the code of a template, or anything else.
  const open: ('template' | 'block')[] = []
  let before = ''
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(code)
    if (match !== null) at = pattern.lastIndex
    return match
  }
  while (at < code.length) {
    if (take(token.blank) !== null) continue
    const start = at
    const char = code.charAt(at)
    if (char === '`' || (char === '}' && open.at(-1) === 'template')) {
      if (char === '}') open.pop()
      at++
      const isCode = take(token.template)?.[1] === '${'
      if (isCode) open.push('template')
      before = isCode ? '{' : '`'
    } else if (take(token.text) !== null) before = "'"
    else {
      const [word] = take(token.word) ?? []
      const [, source, flags = ''] = (word === undefined && isExpected(before) && take(token.expression)) || []
      if (source !== undefined) found.push({ line: code.slice(0, start).split('\n').length, source, flags })
      else if (word === undefined) at++
      if (char === '{') open.push('block')
      if (char === '}') open.pop()
      before = source === undefined ? (word ?? char) : '/'
    }
  }
  return found
}

function isExpected(before: string): boolean {
  return beforeExpression.has(before) || !/^[\w$#\u0080-\uffff)\]}'`/]/.test(before)
}
