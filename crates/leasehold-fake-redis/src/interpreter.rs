//! Scripts, by Lua 5.1.

use crate::{
    commands::{self, Call, Declared, OOM, READONLY},
    data::Data,
    protocol::Reply,
    server::{Server, Time},
};
use mlua::{Function, Lua, LuaOptions, StdLib, Table, Value, Variadic};
use std::{cell::RefCell, collections::HashMap, fmt, rc::Rc};

/// A Lua state, and the scripts that it has compiled. It keeps nothing of a run, so one serves any number of servers.
pub struct Interpreter {
    lua: Lua,
    globals: Table,
    /// Calls a function, and tells its error as a value.
    protect: Function,
    scene: Rc<RefCell<Scene>>,
    by_text: RefCell<HashMap<Vec<u8>, Script>>,
    by_hash: RefCell<HashMap<String, Script>>,
    spoil: Option<fn(&str) -> String>,
}

/// What the script that runs works on.
#[derive(Default)]
struct Scene {
    server: Server,
    data: Data,
    time: Time,
    declared: Declared,
    is_replicated: bool,
}

#[derive(Clone)]
struct Script {
    declared: Declared,
    function: Function,
}

impl Interpreter {
    /// One without scripts.
    #[must_use]
    pub fn new() -> Self {
        Self::spoiling(None)
    }

    /// One that changes the text of every script before it is compiled: for controls.
    #[must_use]
    pub fn spoiled(spoil: fn(&str) -> String) -> Self {
        Self::spoiling(Some(spoil))
    }

    fn spoiling(spoil: Option<fn(&str) -> String>) -> Self {
        let libraries = StdLib::MATH | StdLib::STRING | StdLib::TABLE;
        let lua = Lua::new_with(libraries, LuaOptions::new()).expect("these libraries are safe");
        let scene = Rc::default();
        let (globals, protect) = sandbox(&lua, &scene).expect("the sandbox is plain Lua");
        Self {
            lua,
            globals,
            protect,
            scene,
            by_text: RefCell::default(),
            by_hash: RefCell::default(),
            spoil,
        }
    }

    /// Lets servers know a script by this hash.
    ///
    /// # Panics
    /// If the text does not compile.
    pub fn load(&self, sha1: &str, text: &str) {
        if !self.by_hash.borrow().contains_key(sha1) {
            let script = self
                .compile(text.as_bytes())
                .expect("a script that is shipped");
            self.by_hash.borrow_mut().insert(sha1.to_owned(), script);
        }
    }

    pub(crate) fn eval_known(
        &self,
        server: &mut Server,
        data: &mut Data,
        time: Time,
        words: &[&[u8]],
    ) -> Reply {
        let hash = words.get(1).map(|hash| String::from_utf8_lossy(hash));
        let script = hash.and_then(|hash| self.by_hash.borrow().get(&*hash).cloned());
        match script {
            Some(script) => self.run(&script, server, data, time, words),
            None => Reply::error("NOSCRIPT No matching script. Please use EVAL."),
        }
    }

    pub(crate) fn eval(
        &self,
        server: &mut Server,
        data: &mut Data,
        time: Time,
        words: &[&[u8]],
    ) -> Reply {
        let text = words.get(1).copied().unwrap_or_default();
        let known = self.by_text.borrow().get(text).cloned();
        let script = match known.map_or_else(|| self.compile(text), Ok) {
            Ok(script) => script,
            Err(wrong) => return Reply::Error(format!("ERR Error compiling script: {wrong}")),
        };
        let new = script.clone();
        self.by_text
            .borrow_mut()
            .entry(text.to_vec())
            .or_insert(new);
        self.run(&script, server, data, time, words)
    }

    fn compile(&self, text: &[u8]) -> Result<Script, String> {
        let text = String::from_utf8_lossy(text).into_owned();
        let text = self.spoil.map_or(text.clone(), |spoil| spoil(&text));
        let (first, body) = match text.strip_prefix("#!lua") {
            Some(rest) => rest.split_once('\n').ok_or("no line behind the first")?,
            None => return Err("MODEL knows scripts that begin with #!lua only".to_owned()),
        };
        let flags: Vec<_> = first
            .trim()
            .strip_prefix("flags=")
            .unwrap_or_default()
            .split(',')
            .collect();
        let function = self
            .lua
            .load(format!("\n{body}"))
            .set_name("@user_script")
            .set_environment(self.globals.clone())
            .into_function()
            .map_err(|wrong| wrong.to_string())?;
        let declared = Declared {
            no_writes: flags.contains(&"no-writes"),
            allow_oom: flags.contains(&"allow-oom"),
        };
        Ok(Script { declared, function })
    }

    fn run(
        &self,
        script: &Script,
        server: &mut Server,
        data: &mut Data,
        time: Time,
        words: &[&[u8]],
    ) -> Reply {
        let keys = words
            .get(2)
            .and_then(|count| std::str::from_utf8(count).ok()?.parse().ok());
        let (keys, arguments) = match (keys, words.get(3..)) {
            (Some(keys), Some(rest)) if keys <= rest.len() => rest.split_at(keys),
            _ => return Reply::error("ERR Number of keys can't be greater than number of args"),
        };
        let declared = script.declared;
        if server.is_replica && !declared.no_writes {
            return Reply::error(READONLY);
        }
        if server.is_out_of_memory && !declared.no_writes && !declared.allow_oom {
            return Reply::error(OOM);
        }
        self.scene.replace(Scene {
            server: std::mem::take(server),
            data: std::mem::take(data),
            time,
            declared,
            is_replicated: true,
        });
        let outcome = self.call(script, keys, arguments);
        let scene = self.scene.take();
        (*server, *data) = (scene.server, scene.data);
        outcome.unwrap_or_else(|wrong| Reply::Error(format!("MODEL cannot run this: {wrong}")))
    }

    fn call(&self, script: &Script, keys: &[&[u8]], arguments: &[&[u8]]) -> mlua::Result<Reply> {
        let list = |words: &[&[u8]]| {
            let words = words.iter().map(|word| self.lua.create_string(word));
            self.lua
                .create_sequence_from(words.collect::<mlua::Result<Vec<_>>>()?)
        };
        self.globals.raw_set("KEYS", list(keys)?)?;
        self.globals.raw_set("ARGV", list(arguments)?)?;
        let (went_well, value): (bool, Value) = self.protect.call(&script.function)?;
        if went_well {
            return from_lua(&value);
        }
        let told = match &value {
            Value::Table(table) => table.raw_get::<mlua::String>("err")?.to_string_lossy(),
            Value::String(text) => format!("ERR {}", text.to_string_lossy()),
            other => format!("MODEL got an odd error: {other:?}"),
        };
        Ok(Reply::Error(format!(
            "{told} script: 0, on @user_script:0."
        )))
    }
}

impl Default for Interpreter {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Interpreter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Interpreter").finish_non_exhaustive()
    }
}

/// The globals that scripts see, and the function that calls them.
fn sandbox(lua: &Lua, scene: &Rc<RefCell<Scene>>) -> mlua::Result<(Table, Function)> {
    let (of_call, of_repl) = (Rc::clone(scene), Rc::clone(scene));
    let call = lua.create_function(move |lua, words: Variadic<Value>| {
        let scene = &mut *of_call.borrow_mut();
        let reply = match words.iter().map(word).collect::<Option<Vec<_>>>() {
            Some(words) => {
                let call = Call {
                    time: scene.time,
                    is_replicated: scene.is_replicated,
                    script: Some(scene.declared),
                };
                commands::run(&mut scene.server, &mut scene.data, &call, &words)
            }
            None => Reply::error(NO_WORD),
        };
        to_lua(lua, &reply)
    })?;
    let set_repl = lua.create_function(move |_, flags: u8| {
        // Half of it, to the log alone or to replicas alone, is more than the model keeps apart.
        of_repl.borrow_mut().is_replicated = match flags {
            0 => false,
            3 => true,
            _ => return Err(mlua::Error::runtime("MODEL knows REPL_ALL and REPL_NONE")),
        };
        Ok(())
    })?;
    lua.load(PRELUDE)
        .set_name("@prelude")
        .call((call, set_repl))
}

/// A word of a command, if the value can be one.
fn word(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.as_bytes().to_vec()),
        Value::Integer(number) => Some(number.to_string().into_bytes()),
        // A server writes 17 digits of it, and so does this as long as it is a whole number below that.
        Value::Number(number) if number.fract() == 0.0 && number.abs() < 1e17 => {
            Some(format!("{number:.0}").into_bytes())
        }
        _ => None,
    }
}

fn to_lua(lua: &Lua, reply: &Reply) -> mlua::Result<Value> {
    let field = |name: &str, text: &str| {
        let table = lua.create_table()?;
        table.raw_set(name, text)?;
        Ok(Value::Table(table))
    };
    match reply {
        Reply::Status(text) => field("ok", text),
        Reply::Error(text) => field("err", text),
        Reply::Integer(number) => Ok(Value::Integer(*number)),
        Reply::Bulk(text) => lua.create_string(text).map(Value::String),
        Reply::Nil => Ok(Value::Boolean(false)),
        Reply::List(parts) => {
            let parts = parts.iter().map(|part| to_lua(lua, part));
            let parts = parts.collect::<mlua::Result<Vec<_>>>()?;
            lua.create_sequence_from(parts).map(Value::Table)
        }
    }
}

fn from_lua(value: &Value) -> mlua::Result<Reply> {
    Ok(match value {
        Value::String(text) => Reply::Bulk(text.as_bytes().to_vec()),
        Value::Integer(number) => Reply::Integer(*number),
        // Cut off, not rounded.
        #[expect(clippy::cast_possible_truncation, reason = "as a server does")]
        Value::Number(number) => Reply::Integer(*number as i64),
        Value::Boolean(true) => Reply::Integer(1),
        Value::Table(table) => of_table(table)?,
        _ => Reply::Nil,
    })
}

fn of_table(table: &Table) -> mlua::Result<Reply> {
    if let Value::String(text) = table.raw_get("err")? {
        return Ok(Reply::Error(text.to_string_lossy()));
    }
    if let Value::String(text) = table.raw_get("ok")? {
        return Ok(Reply::Status(text.to_string_lossy()));
    }
    let mut parts = Vec::new();
    for place in 1.. {
        // The first nil ends it, whatever comes behind.
        match table.raw_get(place)? {
            Value::Nil => break,
            value => parts.push(from_lua(&value)?),
        }
    }
    Ok(Reply::List(parts))
}

const NO_WORD: &str = "ERR Lua redis lib command arguments must be strings or integers";

/// What a server lets scripts see. A script that writes a global, or reads one that is not there, has failed.
const PRELUDE: &str = r#"
local call, set_repl = ...
local redis = {
  REPL_ALL = 3, REPL_AOF = 1, REPL_SLAVE = 2, REPL_REPLICA = 2, REPL_NONE = 0,
  pcall = call, set_repl = set_repl,
}
function redis.call(...)
  local reply = call(...)
  if type(reply) == 'table' and reply.err then
    error(reply)
  end
  return reply
end
function redis.status_reply(text)
  return {ok = text}
end
function redis.error_reply(text)
  if string.sub(text, 1, 1) == '-' then
    text = string.sub(text, 2)
  end
  if not string.find(text, ' ', 1, true) then
    text = 'ERR ' .. text
  end
  return {err = text}
end
local globals = {
  redis = redis, string = string, table = table, math = math, unpack = unpack, select = select,
  type = type, tonumber = tonumber, tostring = tostring, next = next, pairs = pairs, ipairs = ipairs,
  pcall = pcall, error = error, assert = assert, rawget = rawget, rawset = rawset, rawequal = rawequal,
}
setmetatable(globals, {
  __index = function(_, name)
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
  end,
  __newindex = function()
    error('Attempt to modify a readonly table', 2)
  end,
})
return globals, function(script)
  return pcall(script)
end
"#;

#[cfg(test)]
mod tests;
